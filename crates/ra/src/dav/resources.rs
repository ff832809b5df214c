//! The URLs of nodes and revisions, and the requests that read XML.

use base::{Code, Error, FsPath, RelPath, Result, Revnum, Url, percent};
use wire::dav::client::{ALLPROP, PropResponse, ReportBody, XmlEvents, fault_error, propfind};
use wire::dav::names::DAV;
use wire::dav::stream::ElementStream;
use wire::dav::uri;
use wire::dav::xml::{Element, XmlLimits};

use super::DavSession;
use super::fault::{malformed, of_properties, refusal};
use super::request::{Request, RequestBody};
use super::response::{Response, ResponseBody};

/// The most URLs of trees that are remembered.
const MOST_COLLECTIONS: usize = 1000;
/// The deepest nesting of elements in a response: an edit has a level for each directory.
const MOST_DEPTH: usize = 4096;

/// Names of escaped paths.
pub(super) struct Resources;

impl Resources {
    /// The escaped path of a URL; never empty.
    pub(super) fn path_of(url: &Url) -> String {
        match url.path() {
            "" => "/".to_owned(),
            path => path.to_owned(),
        }
    }

    /// Appends a path to an escaped one.
    pub(super) fn below(base: &str, path: &RelPath) -> String {
        let base = base.trim_end_matches('/');
        let mut out = base.to_owned();
        if !path.is_empty() {
            out.push('/');
            out.extend(percent::encode(path.as_str().as_bytes(), percent::URL_PATH));
        }
        out
    }
}

impl DavSession {
    /// The path of the session's URL in the repository.
    pub(super) fn session_path(&self) -> RelPath {
        self.url.relative_to(&self.root).unwrap_or_default()
    }

    /// The path in the repository of a path below the session's URL.
    pub(super) fn fs_path(&self, path: &RelPath) -> FsPath {
        FsPath::root().join(&self.session_path()).join(path)
    }

    /// The escaped path of a node in the youngest revision.
    pub(super) fn public(&self, path: &RelPath) -> String {
        Resources::path_of(&self.url.join(path))
    }

    /// The escaped path of a node in a revision, by its path in the repository.
    pub(super) fn node_at(&mut self, path: &RelPath, rev: Revnum) -> Result<String> {
        if let Some(stubs) = &self.features.stubs {
            return Ok(Resources::below(&format!("{}/{rev}", stubs.rev_root), path));
        }
        if let Some(found) = self.collections.get(&rev) {
            return Ok(Resources::below(found, path));
        }
        let target = self.features.configuration.clone();
        let found = self.propfind(&target, Some(rev), &[(DAV, "baseline-collection")])?;
        let collection = found.get(DAV, "baseline-collection").and_then(href_of);
        let collection =
            collection.ok_or_else(|| malformed("The server did not name the tree of a revision"))?;
        let node = Resources::below(&collection, path);
        if self.collections.len() >= MOST_COLLECTIONS {
            self.collections.clear();
        }
        self.collections.insert(rev, collection);
        Ok(node)
    }

    /// The escaped path of a node in a revision, by its path below the session's URL.
    pub(super) fn node(&mut self, path: &RelPath, rev: Revnum) -> Result<String> {
        self.node_at(&self.session_path().join(path), rev)
    }

    /// The escaped path of a node: in a revision, or in the youngest one.
    pub(super) fn node_or_public(&mut self, path: &RelPath, rev: Option<Revnum>) -> Result<String> {
        match rev {
            Some(rev) => self.node(path, rev),
            None => Ok(self.public(path)),
        }
    }

    /// The resource for reports about the whole repository.
    pub(super) fn report_target(&self) -> String {
        match &self.features.stubs {
            Some(stubs) => stubs.me.clone(),
            None => self.features.configuration.clone(),
        }
    }

    /// The resource of a revision's properties, and the revision if a header has to name it.
    pub(super) fn baseline(&self, rev: Revnum) -> (String, Option<Revnum>) {
        match &self.features.stubs {
            Some(stubs) => (format!("{}/{rev}", stubs.rev), None),
            None => (self.features.configuration.clone(), Some(rev)),
        }
    }

    /// Returns the youngest revision from a server that does not name it.
    pub(super) fn youngest_by_properties(&mut self) -> Result<Revnum> {
        let target = self.report_target();
        let found = self.propfind(&target, None, &[(DAV, "checked-in")])?;
        let baseline = found.get(DAV, "checked-in").and_then(href_of);
        let baseline = baseline.ok_or_else(|| malformed("The server did not name its youngest revision"))?;
        let found = self.propfind(&baseline, None, &[(DAV, "version-name")])?;
        let rev = found
            .text(DAV, "version-name")
            .and_then(|rev| Revnum::parse(rev.as_bytes()));
        rev.ok_or_else(|| malformed("The server did not name its youngest revision"))
    }

    /// Limits for responses that are read by child of the root, or event by event.
    pub(super) fn xml_limits(&self) -> XmlLimits {
        let message = self.options.limits.message;
        XmlLimits {
            depth: MOST_DEPTH,
            memory: message,
            bytes: message as u64,
        }
    }

    /// Reads properties of one resource.
    ///
    /// # Errors
    /// The server's; `RA_DAV_PROPS_NOT_FOUND` for a response without the resource.
    pub(super) fn propfind(
        &self,
        target: &str,
        label: Option<Revnum>,
        wanted: &[(&str, &str)],
    ) -> Result<PropResponse> {
        let body = match wanted.is_empty() {
            true => ALLPROP.to_owned(),
            false => propfind(wanted),
        };
        let mut only = None;
        self.propfind_each(target, label, "0", body, &mut |found| {
            only.get_or_insert(found);
            Ok(())
        })?;
        only.ok_or_else(|| {
            let message = "The PROPFIND response did not include the requested resource";
            Error::new(Code::RA_DAV_PROPS_NOT_FOUND, message)
        })
    }

    /// Reads properties of a resource and, at depth `1`, of what is in it.
    ///
    /// # Errors
    /// The server's; those of `each`.
    pub(super) fn propfind_each(
        &self,
        target: &str,
        label: Option<Revnum>,
        depth: &'static str,
        body: String,
        each: &mut dyn FnMut(PropResponse) -> Result<()>,
    ) -> Result<()> {
        let mut request = Request::new("PROPFIND", target).header("depth", depth).xml(body);
        if let Some(label) = label {
            request = request.header("label", label.to_string());
        }
        let response = self.client.call(request)?;
        self.read_multistatus(response, target, each)
    }

    /// Reads a multistatus response.
    pub(super) fn read_multistatus(
        &self,
        response: Response,
        target: &str,
        each: &mut dyn FnMut(PropResponse) -> Result<()>,
    ) -> Result<()> {
        if response.status != 207 {
            return Err(match response.status {
                200..300 => malformed("The server did not send the status of properties"),
                _ => refusal(response, target),
            });
        }
        self.each_child(response, &mut |child| {
            let Some(found) = PropResponse::read(&child) else {
                return Ok(());
            };
            // Properties that a resource does not have are missing; a resource with another status is an error.
            let of_resource: Vec<_> = found
                .failures
                .iter()
                .filter(|one| one.name.is_none())
                .cloned()
                .collect();
            match of_properties(&of_resource, target) {
                Some(error) => Err(error),
                None => each(found),
            }
        })
    }

    /// Sends a report and passes each child of the response's root to `each`.
    pub(super) fn report_each(
        &self,
        target: &str,
        body: ReportBody,
        each: &mut dyn FnMut(Element) -> Result<()>,
    ) -> Result<()> {
        let response = self.start_report(target, body)?;
        self.each_child(response, each)
    }

    /// Sends a report.
    pub(super) fn start_report(&self, target: &str, body: ReportBody) -> Result<Response> {
        let response = self
            .client
            .call(Request::new("REPORT", target).xml(body.finish()))?;
        check_success(response, target)
    }

    /// Sends a report whose response contains texts, and returns the events of its response.
    pub(super) fn svndiff_report(&self, target: &str, body: ReportBody) -> Result<XmlEvents<ResponseBody>> {
        let request = Request::new("REPORT", target).xml(body.finish());
        let response = self.client.call(self.accepting_svndiff(request))?;
        Ok(self.events(check_success(response, target)?))
    }

    /// Returns the events of a response.
    pub(super) fn events(&self, response: Response) -> XmlEvents<ResponseBody> {
        XmlEvents::new(response.body, self.xml_limits())
    }

    /// Names the versions of svndiff that the response may contain, the preferred one first.
    pub(super) fn accepting_svndiff(&self, request: Request) -> Request {
        let accepted = match (self.options.http.compression, self.client.is_near()) {
            (false, _) => "svndiff",
            (true, true) => "gzip,svndiff2;q=0.9,svndiff1;q=0.8,svndiff;q=0.7",
            (true, false) => "gzip,svndiff1;q=0.9,svndiff2;q=0.8,svndiff;q=0.7",
        };
        request.header("accept-encoding", accepted)
    }

    /// Returns the version of svndiff for texts that are sent.
    pub(super) fn svndiff_version(&self) -> u8 {
        let (one, two) = (self.features.names("svndiff1"), self.features.names("svndiff2"));
        match self.options.http.compression {
            true if two && (self.client.is_near() || !one) => 2,
            true if one => 1,
            _ => 0,
        }
    }

    fn each_child(&self, response: Response, each: &mut dyn FnMut(Element) -> Result<()>) -> Result<()> {
        let mut body = response.body;
        let opened = ElementStream::open(&mut body, self.xml_limits()).map_err(fault_error)?;
        let Some(mut stream) = opened else {
            return Err(malformed("The response is empty"));
        };
        while let Some(child) = stream.next_child().map_err(fault_error)? {
            each(child)?;
        }
        drop(stream);
        // The end of the body frees the connection.
        body.next_piece().map(drop)
    }

    /// Sends a request whose response has no body that matters.
    ///
    /// # Errors
    /// The server's, for a status other than those of `success`.
    pub(super) fn call_plain(&self, request: Request, success: &[u16]) -> Result<Response> {
        let target = request.target.clone();
        let mut response = self.client.call(request)?;
        if !success.contains(&response.status) {
            return Err(refusal(response, &target));
        }
        response.body.read_up_to(MOST_PLAIN)?;
        Ok(response)
    }

    /// Changes properties of a resource.
    ///
    /// # Errors
    /// The server's, of the request or of a property.
    pub(super) fn proppatch(&self, request: Request) -> Result<()> {
        let target = request.target.clone();
        let response = self.client.call(request)?;
        let mut failures = Vec::new();
        let mut shown = target.clone();
        self.read_multistatus(response, &target, &mut |found| {
            if let Some(path) = uri::path_of(&found.href).filter(|_| !found.failures.is_empty()) {
                shown = path.to_owned();
            }
            failures.extend(found.failures);
            Ok(())
        })?;
        match of_properties(&failures, &shown) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns a request with a body of XML that may be long.
    pub(super) fn long_report(target: String, body: RequestBody) -> Request {
        Request::new("REPORT", target).body("text/xml", body)
    }
}

/// The longest body of such a response that is read, in bytes.
const MOST_PLAIN: usize = 64 << 10;

/// # Errors
/// The server's, unless the status is that of a response with what was asked for.
pub(super) fn check_success(response: Response, target: &str) -> Result<Response> {
    let expected = match response.method {
        "PROPFIND" | "PROPPATCH" => 207,
        _ => 200,
    };
    match response.status == expected {
        true => Ok(response),
        false => Err(refusal(response, target)),
    }
}

/// Returns the escaped path in the `DAV:href` of an element, without a slash at the end. Servers may write a whole URL.
pub(super) fn href_of(element: &Element) -> Option<String> {
    let text = element.child(DAV, "href")?.text.trim();
    let path = uri::path_of(text)?;
    Some(match path.trim_end_matches('/') {
        "" => "/".to_owned(),
        path => path.to_owned(),
    })
}

/// Reads a number of a revision in an attribute; `None` for -1 and if it is missing.
pub(super) fn rev_attribute(element: &Element, name: &str) -> Option<Revnum> {
    element
        .attribute(name)
        .and_then(|rev| Revnum::parse(rev.as_bytes()))
}
