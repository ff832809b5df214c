//! A request with its repository, its resource and its user: what methods work with.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use base::{Code, Error, FsPath, Result, Revnum};
use http::StatusCode;
use repos::access::{Everything, Readable, Subtree};
use repos::authz::UserRights;
use repos::tree::Tree;
use repos::{Instance, Repository};
use wire::dav::uri::{RepositoryUrls, Resource};
use wire::dav::xml::{Element, MalformedXml};
use wire::dav::xml_encoding::to_utf8;

use super::Site;
use super::connection_cache::ConnectionCache;
use super::mount::MountedRepository;
use crate::config::{HttpOptions, PathAuthz};
use crate::http::{Fault, Operation, Request};
use crate::log::Origin;
use crate::response_cache::{Requester, RequiredAccess, Validators};

/// A request to a mounted repository.
pub(crate) struct RequestContext<'a> {
    pub(crate) site: &'a Arc<Site>,
    pub(crate) options: Arc<HttpOptions>,
    /// The cache of the request's connection.
    pub(super) connection: &'a ConnectionCache,
    pub(crate) request: &'a mut Request,
    pub(crate) mount: Arc<MountedRepository>,
    /// The repository of `mount`, with the read mode of the request.
    repository: Repository,
    /// The instance of the repository when the request began: what is read of a repository that is replaced during the request is
    /// not cached as a response of the new one.
    pub(crate) instance: Instance,
    pub(crate) resource: Resource,
    /// The authenticated user; `None` is anonymous.
    pub(crate) user: Option<String>,
    /// The user's groups in an LDAP directory.
    pub(crate) groups: Arc<[String]>,
    /// The rights that path-based rules grant the user; `None` if there are no such rules.
    pub(crate) rights: Option<Arc<UserRights>>,
    /// The transaction that was begun for this request alone.
    pub(crate) autoversion: Option<String>,
    /// The method has failed within a response that is not an error: no revision is made of it.
    pub(crate) is_refused: bool,
    youngest: OnceCell<Revnum>,
    /// The operation in Subversion's terms, for logs.
    operation: RefCell<Option<String>>,
}

impl<'a> RequestContext<'a> {
    /// Returns the context of an anonymous request; [`super::access::authorize`] sets the user.
    pub(crate) fn new(
        site: &'a Arc<Site>,
        options: Arc<HttpOptions>,
        connection: &'a ConnectionCache,
        request: &'a mut Request,
        mount: Arc<MountedRepository>,
        resource: Resource,
    ) -> Self {
        RequestContext {
            site,
            options,
            connection,
            repository: mount.repository.with_read_mode(&request.read_mode),
            instance: mount.repository.instance(),
            request,
            mount,
            resource,
            user: None,
            groups: Arc::default(),
            rights: None,
            autoversion: None,
            is_refused: false,
            youngest: OnceCell::new(),
            operation: RefCell::new(None),
        }
    }

    /// Returns the repository, with the read mode of the request.
    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the validators of a response to this request that shows nothing that can change.
    pub(crate) fn validators(&self, access: RequiredAccess) -> Validators {
        Validators {
            options: self.options.clone(),
            root: self.mount.root.clone(),
            access,
            youngest: None,
            date: None,
            sent_revisions: None,
        }
    }

    /// Returns the cache of the request's connection.
    pub(crate) fn connection(&self) -> &ConnectionCache {
        self.connection
    }

    /// Returns the builder of the repository's URLs.
    pub(crate) fn base(&self) -> &RepositoryUrls {
        &self.mount.base
    }

    /// Returns the youngest revision. It is the same during the whole request.
    pub(crate) fn youngest(&self) -> Result<Revnum> {
        match self.youngest.get() {
            Some(rev) => Ok(*rev),
            None => {
                let rev = self.repository.youngest()?;
                Ok(*self.youngest.get_or_init(|| rev))
            }
        }
    }

    /// Sets the youngest revision for the rest of the request.
    pub(crate) fn set_youngest(&mut self, rev: Revnum) {
        self.youngest = OnceCell::from(rev);
    }

    /// Returns the tree of a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub(crate) fn tree(&self, rev: Revnum) -> Result<Tree> {
        let tree = self.connection.tree(&self.mount, rev)?;
        Ok(tree.with_read_mode(&self.request.read_mode))
    }

    /// Returns the filter for the paths in a response: what the user may read.
    pub(crate) fn readable(&self) -> Arc<dyn Readable> {
        match &self.rights {
            Some(rights) if self.mount.location.path_authz == PathAuthz::On => rights.clone(),
            _ => Arc::new(Everything),
        }
    }

    /// Reads the whole body as XML; returns `None` if it is empty.
    ///
    /// # Errors
    /// 413, 400.
    pub(crate) fn xml(&mut self) -> std::result::Result<Option<(Element, Vec<u8>)>, Fault> {
        let limits = self.options.limits;
        let body = to_utf8(self.request.body.read_all(limits.xml_body)?)?;
        if body.is_empty() {
            return Ok(None);
        }
        Ok(Some((self.parse_xml(&body)?, body)))
    }

    /// Parses a body as XML.
    ///
    /// # Errors
    /// 400.
    fn parse_xml(&self, body: &[u8]) -> std::result::Result<Element, Fault> {
        Ok(Element::parse(body, self.options.limits.xml(body.len() as u64))?)
    }

    /// As [`RequestContext::xml`], for methods that need a body.
    ///
    /// # Errors
    /// 413, 400.
    pub(crate) fn required_xml(&mut self) -> std::result::Result<(Element, Vec<u8>), Fault> {
        self.xml()?.ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))
    }

    /// Sets the line for the operational log, in Subversion's terms. The last call in a request counts.
    pub(crate) fn log_operation(&self, text: impl FnOnce() -> String) {
        *self.operation.borrow_mut() = Some(text());
    }

    /// Logs an error after a method that has succeeded.
    pub(crate) fn log_error(&self, error: &Error) {
        if let Some(log) = &self.site.service.context.log {
            log.error(Origin::at(Some(self.request.peer.address.ip())), error);
        }
    }

    /// Hands user and operation to the request, for its logs.
    pub(crate) fn finish(self) {
        self.request.user = self.user;
        self.request.operation = self.operation.into_inner().map(|text| Operation {
            repository: self.mount.log_name(),
            text,
        });
    }
}

impl Requester for RequestContext<'_> {
    fn repository(&self) -> &Repository {
        &self.repository
    }

    fn options(&self) -> &Arc<HttpOptions> {
        &self.options
    }

    fn root(&self) -> &str {
        &self.mount.root
    }

    fn may_read(&self, access: &RequiredAccess) -> bool {
        match access {
            RequiredAccess::Path(path) => self.readable().read(path),
            RequiredAccess::Everything => self.readable().subtree(&FsPath::root()) == Subtree::All,
        }
    }
}

impl From<MalformedXml> for Fault {
    /// Makes a 400 of a body that is not well-formed XML.
    fn from(what: MalformedXml) -> Fault {
        Fault::hidden(StatusCode::BAD_REQUEST, Error::new(Code::XML_MALFORMED, what.0))
    }
}
