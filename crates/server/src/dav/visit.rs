//! One request to one repository: what its handler needs to know.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use base::{Result, Revnum};
use http::StatusCode;
use repos::Repository;
use repos::access::{Everything, Readable};
use repos::authz::UserRights;
use repos::tree::Tree;
use wire::dav::uri::{Base, Resource};
use wire::dav::xml::Element;

use super::fault::Fault;
use super::place::Place;
use crate::http::{HttpOptions, Operation, PathAuthz, Request};
use crate::log::Origin;
use crate::service::Service;

/// A request that has found its repository.
pub(crate) struct Visit<'a> {
    pub(crate) service: &'a Arc<Service>,
    pub(crate) http: Arc<HttpOptions>,
    pub(crate) request: &'a mut Request,
    pub(crate) place: Arc<Place>,
    pub(crate) resource: Resource,
    pub(crate) user: Option<String>,
    /// What path-based rules grant the user; none if there are no rules.
    pub(crate) rights: Option<Arc<UserRights>>,
    /// The transaction that was begun for this one request.
    pub(crate) autoversion: Option<String>,
    /// Nothing of what the request asks for was done: no revision is made of it.
    pub(crate) is_refused: bool,
    youngest: OnceCell<Revnum>,
    /// What it is in Subversion's words.
    operation: RefCell<Option<String>>,
}

impl<'a> Visit<'a> {
    pub(crate) fn new(
        service: &'a Arc<Service>,
        http: Arc<HttpOptions>,
        request: &'a mut Request,
        place: Arc<Place>,
        resource: Resource,
    ) -> Self {
        Visit {
            service,
            http,
            request,
            place,
            resource,
            user: None,
            rights: None,
            autoversion: None,
            is_refused: false,
            youngest: OnceCell::new(),
            operation: RefCell::new(None),
        }
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.place.repository
    }

    /// Builds the URLs of this repository.
    pub(crate) fn base(&self) -> &Base {
        &self.place.base
    }

    /// The youngest revision, the same for the whole request.
    pub(crate) fn youngest(&self) -> Result<Revnum> {
        match self.youngest.get() {
            Some(rev) => Ok(*rev),
            None => {
                let rev = self.place.repository.youngest()?;
                Ok(*self.youngest.get_or_init(|| rev))
            }
        }
    }

    /// From now on this is the youngest revision.
    pub(crate) fn look_at(&mut self, rev: Revnum) {
        self.youngest = OnceCell::from(rev);
    }

    /// The tree of a revision.
    ///
    /// # Errors
    /// `FS_NO_SUCH_REVISION`.
    pub(crate) fn tree(&self, rev: Revnum) -> Result<Tree> {
        self.request.peer.known.tree(&self.place, rev)
    }

    /// What the user may read inside of answers.
    pub(crate) fn readable(&self) -> Arc<dyn Readable> {
        match &self.rights {
            Some(rights) if self.place.location.path_authz == PathAuthz::On => rights.clone(),
            _ => Arc::new(Everything),
        }
    }

    /// The whole body, as XML; `None` if there is none.
    ///
    /// # Errors
    /// 413, 400.
    pub(crate) fn xml(&mut self) -> std::result::Result<Option<(Element, Vec<u8>)>, Fault> {
        let limits = self.http.limits;
        let body = self.request.body.read_all(limits.xml_body)?;
        if body.is_empty() {
            return Ok(None);
        }
        Ok(Some((self.parse_xml(&body)?, body)))
    }

    /// A body that was read, as XML.
    ///
    /// # Errors
    /// 400.
    pub(crate) fn parse_xml(&self, body: &[u8]) -> std::result::Result<Element, Fault> {
        Ok(Element::parse(body, self.http.limits.xml(body.len() as u64))?)
    }

    /// As [`Visit::xml`] where a body must be.
    ///
    /// # Errors
    /// 413, 400.
    pub(crate) fn required_xml(&mut self) -> std::result::Result<(Element, Vec<u8>), Fault> {
        self.xml()?.ok_or_else(|| Fault::html(StatusCode::BAD_REQUEST))
    }

    /// Logs what the client asked for, in Subversion's words. Of several for one request the last counts.
    pub(crate) fn log_operation(&self, text: impl FnOnce() -> String) {
        *self.operation.borrow_mut() = Some(text());
    }

    /// Logs what went wrong behind something that was done.
    pub(crate) fn log_error(&self, error: &base::Error) {
        if let Some(log) = &self.service.log {
            log.error(Origin::at(Some(self.request.peer.address.ip())), error);
        }
    }

    /// Tells the logs of the request what it was.
    pub(super) fn leave(self) {
        self.request.user = self.user;
        self.request.operation = self.operation.into_inner().map(|text| Operation {
            repository: self.place.log_name(),
            text,
        });
    }
}
