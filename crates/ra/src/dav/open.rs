//! The start of a session: what the server can do, where its resources are, and redirects.

use std::collections::BTreeSet;

use base::{Code, Error, Result, Revnum, Url};
use wire::dav::client::OPTIONS;
use wire::dav::client::PropResponse;
use wire::dav::names::{DAV, SVN_DAV};
use wire::dav::uri;

use super::DavSession;
use super::fault::{NO_LOCATION, malformed, of_status};
use super::http_client::HttpClient;
use super::request::Request;
use super::resources::{Resources, check_success, href_of};
use super::response::Response;
use crate::options::OpenOptions;
use crate::requests::Capability;

/// The prefix of capabilities in the header `DAV`.
const PREFIX: &str = "http://subversion.tigris.org/xmlns/dav/svn/";
/// The longest body of the response that is read, in bytes.
const MOST_OPTIONS: usize = 64 << 10;

/// What a server can do.
#[derive(Debug, Default)]
pub(super) struct ServerFeatures {
    /// Capabilities, without their prefix.
    capabilities: BTreeSet<String>,
    /// The URL paths of HTTPv2.
    pub(super) stubs: Option<Stubs>,
    tracks_merges: Option<bool>,
    /// `On`, `Off` or `Prefer`.
    pub(super) bulk_updates: Option<String>,
    /// Texts within an edit are sent as they are stored: Sven's server does not compress them once more.
    pub(super) sends_stored_texts: bool,
    /// Takes properties with the request for a transaction.
    pub(super) posts_props: bool,
    /// HTTPv1: where activities are.
    pub(super) activities: Option<String>,
    /// HTTPv1: the version-controlled configuration.
    pub(super) configuration: String,
}

/// The paths of HTTPv2, escaped, without a slash at the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Stubs {
    pub(super) me: String,
    pub(super) rev_root: String,
    pub(super) rev: String,
    pub(super) txn_root: String,
    pub(super) txn: String,
}

impl ServerFeatures {
    /// True for a capability by its name.
    pub(super) fn names(&self, name: &str) -> bool {
        self.capabilities.contains(name)
    }

    pub(super) fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::Depth => self.names("depth"),
            Capability::Mergeinfo => self.names("mergeinfo") && self.tracks_merges != Some(false),
            Capability::LogRevprops => self.names("log-revprops"),
            Capability::PartialReplay => self.names("partial-replay"),
            Capability::CommitRevprops => true,
            Capability::AtomicRevprops => self.names("atomic-revprops"),
            Capability::InheritedProps => self.names("inherited-props"),
            Capability::EphemeralTxnprops => self.names("ephemeral-txnprops"),
            Capability::FileRevsReverse => self.names("reverse-file-revs"),
            Capability::List => self.names("list"),
        }
    }

    /// Reads the headers of a response to `OPTIONS`.
    fn read(response: &Response) -> ServerFeatures {
        let text = |name: &str| response.header(name).map(str::to_owned);
        let path = |name: &str| text(name).map(|path| path.trim_end_matches('/').to_owned());
        let mut capabilities = BTreeSet::new();
        for value in response.headers.get_all("dav") {
            let value = String::from_utf8_lossy(value.as_bytes());
            let names = value
                .split(',')
                .filter_map(|name| name.trim().strip_prefix(PREFIX));
            capabilities.extend(names.map(str::to_owned));
        }
        let stubs = path("svn-me-resource").map(|me| Stubs {
            me,
            rev_root: path("svn-rev-root-stub").unwrap_or_default(),
            rev: path("svn-rev-stub").unwrap_or_default(),
            txn_root: path("svn-txn-root-stub").unwrap_or_default(),
            txn: path("svn-txn-stub").unwrap_or_default(),
        });
        let mut posts = response.headers.get_all("svn-supported-posts").iter();
        ServerFeatures {
            capabilities,
            stubs,
            tracks_merges: text("svn-repository-mergeinfo").map(|word| word == "yes"),
            bulk_updates: text("svn-allow-bulk-updates"),
            sends_stored_texts: text("x-sven-stored-texts").is_some(),
            posts_props: posts.any(|value| value == "create-txn-with-props"),
            activities: None,
            configuration: String::new(),
        }
    }
}

/// Returns what credentials are for: the scheme, the host and the port of a URL.
fn origin(url: &Url) -> (String, String, Option<String>) {
    (
        url.scheme().to_owned(),
        url.host().to_owned(),
        url.port().map(str::to_owned),
    )
}

impl DavSession {
    /// Opens a session. Follows permanent redirects; credentials for a host to which a server redirects are asked for with a
    /// warning ([`crate::PasswordRequest::redirected`]).
    ///
    /// # Errors
    /// Those of the connection; `RA_DAV_OPTIONS_REQ_FAILED` for a server that does not know WebDAV; `RA_DAV_RELOCATED` and
    /// `RA_SESSION_URL_MISMATCH` for redirects that are not followed; `CLIENT_CYCLE_DETECTED`.
    pub(crate) fn open(url: &Url, options: &OpenOptions) -> Result<DavSession> {
        let (mut url, mut visited) = (url.clone(), BTreeSet::new());
        let first = origin(&url);
        loop {
            if !visited.insert(url.clone()) {
                let message = format!("Redirect cycle detected for URL '{url}'");
                return Err(Error::new(Code::CLIENT_CYCLE_DETECTED, message));
            }
            let options = &for_host(&url, options).map_err(|error| crate::cannot_open(&url, error))?;
            let client = HttpClient::new(&url, options, origin(&url) != first)
                .map_err(|error| crate::cannot_open(&url, error))?;
            let request = options_request(&url);
            let target = request.target.clone();
            // Errors name the URL to which the server has redirected.
            let response = client
                .call(request)
                .map_err(|error| crate::cannot_open(&url, error))?;
            let is_redirect = match response.header("location") {
                Some(_) => (300..400).contains(&response.status),
                None => (300..=308).contains(&response.status),
            };
            if !is_redirect {
                let begun = DavSession::begin(client, url.clone(), options, response, &target);
                return begun.map_err(|error| crate::cannot_open(&url, error));
            }
            let location = absolute(&client, response.header("location").unwrap_or_default());
            if location.is_empty() && response.status == 301 {
                let message = "Location header not set on redirect response";
                return Err(Error::new(Code::RA_DAV_RESPONSE_HEADER_BADNESS, message));
            }
            if location.is_empty() {
                let message = format!("Repository moved temporarily to '{NO_LOCATION}'");
                return Err(Error::new(Code::RA_SESSION_URL_MISMATCH, message));
            }
            let refused = of_status(
                response.status,
                &response.reason,
                response.method,
                &target,
                &location,
            );
            if response.status != 301 || options.redirects == 0 {
                let message = refused.message();
                return Err(Error::new(Code::RA_SESSION_URL_MISMATCH, message));
            }
            let next = Url::canonicalize(&location).map_err(|_| refused.clone())?;
            let is_http = matches!(next.scheme(), "http" | "https");
            // A password must not be sent unencrypted because a server wants that.
            let is_weaker = url.scheme() == "https" && next.scheme() == "http";
            if !is_http || is_weaker || visited.len() > options.redirects as usize {
                return Err(refused);
            }
            if let Some(notice) = &options.redirected {
                notice(&next)?;
            }
            url = next;
        }
    }

    fn begin(
        client: HttpClient,
        url: Url,
        options: &OpenOptions,
        response: Response,
        target: &str,
    ) -> Result<DavSession> {
        let is_success = (200..300).contains(&response.status);
        if is_success && !response.headers.contains_key("dav") {
            let message = format!("The server at '{url}' does not support the HTTP/DAV protocol");
            return Err(Error::new(Code::RA_DAV_OPTIONS_REQ_FAILED, message));
        }
        let mut response = check_success(response, target)?;
        let mut features = ServerFeatures::read(&response);
        let body = response.body.read_up_to(MOST_OPTIONS)?;
        features.activities = read_activities(&body);
        let mut session = DavSession {
            root: url.clone(),
            url,
            uuid: response
                .header("svn-repository-uuid")
                .unwrap_or_default()
                .to_owned(),
            options: options.clone(),
            features,
            client,
            collections: std::collections::HashMap::new(),
            text_pipeline: None,
        };
        match response.header("svn-repository-root") {
            Some(root) if session.features.stubs.is_some() => session.set_root(root)?,
            _ => session.find_root()?,
        }
        if session.uuid.is_empty() {
            return Err(Error::bare(Code::RA_NO_REPOS_UUID));
        }
        Ok(session)
    }

    /// Sets the root's URL from its escaped path.
    fn set_root(&mut self, path: &str) -> Result<()> {
        let text = self.client.url_of(path);
        match Url::canonicalize(&with_user(&self.url, &text)) {
            Ok(root) if self.url.relative_to(&root).is_some() => {
                self.root = root;
                Ok(())
            }
            _ => Err(malformed(format!(
                "The server's repository root '{text}' does not contain '{}'",
                self.url
            ))),
        }
    }

    /// Finds the root by properties of the session's URL, or of the nearest one above that exists.
    fn find_root(&mut self) -> Result<()> {
        let mut url = self.url.clone();
        loop {
            let target = Resources::path_of(&url);
            let found = self.propfind(
                &target,
                None,
                &[
                    (DAV, "version-controlled-configuration"),
                    (SVN_DAV, "baseline-relative-path"),
                    (SVN_DAV, "repository-uuid"),
                ],
            );
            match found {
                Ok(found) => return self.read_root(&url, &found),
                Err(error) if matches!(error.code(), Code::FS_NOT_FOUND | Code::RA_DAV_FORBIDDEN) => {
                    url = url.parent().ok_or(error)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn read_root(&mut self, url: &Url, found: &PropResponse) -> Result<()> {
        let lacking = || {
            let message = "The PROPFIND response did not include the requested properties";
            Error::new(Code::RA_DAV_PROPS_NOT_FOUND, message)
        };
        let configuration = found
            .get(DAV, "version-controlled-configuration")
            .and_then(href_of);
        self.features.configuration = configuration.ok_or_else(lacking)?;
        let below = found
            .text(SVN_DAV, "baseline-relative-path")
            .ok_or_else(lacking)?;
        let below = base::RelPath::canonicalize(below)?;
        let mut root = url.clone();
        for _ in below.components() {
            root = root.parent().ok_or_else(lacking)?;
        }
        if let Some(uuid) = found.text(SVN_DAV, "repository-uuid") {
            self.uuid = uuid.trim().to_owned();
        }
        self.root = root;
        Ok(())
    }

    /// Returns the youngest revision.
    pub(super) fn read_latest(&mut self) -> Result<Revnum> {
        let request = options_request(&self.url);
        let target = request.target.clone();
        let mut response = check_success(self.client.call(request)?, &target)?;
        let youngest = response
            .header("svn-youngest-rev")
            .and_then(|rev| Revnum::parse(rev.as_bytes()));
        response.body.read_up_to(MOST_OPTIONS)?;
        match youngest {
            Some(youngest) => Ok(youngest),
            None => self.youngest_by_properties(),
        }
    }
}

/// Returns the options for the host of a URL.
fn for_host(url: &Url, options: &OpenOptions) -> Result<OpenOptions> {
    let mut options = options.clone();
    if let Some(http_of) = &options.http_of {
        options.http = http_of(url)?;
    }
    Ok(options)
}

fn options_request(url: &Url) -> Request {
    Request::new("OPTIONS", Resources::path_of(url)).xml(OPTIONS)
}

/// Returns the URL of a header `Location`, which may be a path.
fn absolute(client: &HttpClient, location: &str) -> String {
    match location.starts_with('/') {
        true => client.url_of(location),
        false => location.to_owned(),
    }
}

/// Adds the user of a URL to another one of the same host.
fn with_user(url: &Url, text: &str) -> String {
    match (url.user(), text.split_once("://")) {
        (Some(user), Some((scheme, rest))) => format!("{scheme}://{user}@{rest}"),
        _ => text.to_owned(),
    }
}

/// Reads the body of the response: where activities are.
fn read_activities(body: &[u8]) -> Option<String> {
    use wire::dav::xml::{Element, XmlLimits};
    let root = Element::parse(body, XmlLimits::default()).ok()?;
    let path = href_of(root.child(DAV, "activity-collection-set")?)?;
    uri::decode(&path)?;
    Some(path)
}
