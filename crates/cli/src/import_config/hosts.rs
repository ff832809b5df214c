//! The hosts and Subversion locations of an Apache configuration. Each location has all directives that apply to it,
//! in the order in which Apache merges them: those of the server, of the host, then of every location around it.

use super::syntax::{Directive, SourcePosition};

/// The whole configuration.
#[derive(Debug, Default)]
pub struct ApacheServer<'a> {
    /// The directives outside of any `<VirtualHost>`.
    pub global: ApacheHost<'a>,
    pub hosts: Vec<ApacheHost<'a>>,
}

/// The directives of a `<VirtualHost>`, or those outside of all.
#[derive(Debug, Default)]
pub struct ApacheHost<'a> {
    /// The addresses as written, such as `*:443`.
    pub addresses: Vec<&'a str>,
    pub settings: Vec<&'a Directive>,
    pub locations: Vec<&'a Directive>,
}

/// A location with repositories.
#[derive(Debug)]
pub struct LocationContext<'a> {
    /// The URL prefix.
    pub path: String,
    pub at: &'a SourcePosition,
    /// The index of its host; `None` if it is outside of all hosts.
    pub host: Option<usize>,
    pub layers: Vec<Layer<'a>>,
}

/// The directives of one section that applies to a location.
#[derive(Debug, Default)]
pub struct Layer<'a> {
    /// All directives, with those inside `<Limit…>` and `<Require…>` sections flattened.
    pub directives: Vec<&'a Directive>,
    /// The same directives, not flattened.
    pub sections: Vec<&'a Directive>,
    /// True for a location; false for the server or a host.
    pub location: bool,
}

/// The methods of `<Limit>` and `<LimitExcept>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Methods<'a> {
    #[default]
    All,
    Only(Vec<&'a str>),
    Except(Vec<&'a str>),
}

impl Methods<'_> {
    /// True if `method` is one of them.
    pub fn hold(&self, method: &str) -> bool {
        let listed = |list: &[&str]| list.iter().any(|name| name.eq_ignore_ascii_case(method));
        match self {
            Methods::All => true,
            // Apache treats HEAD as GET.
            Methods::Only(list) => listed(list),
            Methods::Except(list) => !listed(list),
        }
    }
}

impl<'a> ApacheServer<'a> {
    /// Sorts the directives into hosts and locations.
    pub fn of(tree: &'a [Directive]) -> ApacheServer<'a> {
        let mut server = ApacheServer::default();
        for directive in tree {
            match &directive.inner {
                Some(inner) if directive.is("VirtualHost") => {
                    let mut host = ApacheHost {
                        addresses: directive.args.iter().map(String::as_str).collect(),
                        ..ApacheHost::default()
                    };
                    inner.iter().for_each(|directive| host.add(directive));
                    server.hosts.push(host);
                }
                _ => server.global.add(directive),
            }
        }
        server
    }

    /// Returns every location with `DAV svn`.
    pub fn served_locations(&self) -> Vec<LocationContext<'a>> {
        let mut contexts = Vec::new();
        for location in self.global.locations.iter().filter(|l| serves(l)) {
            contexts.push(self.context(location, None));
        }
        for (at, host) in self.hosts.iter().enumerate() {
            for location in host.locations.iter().filter(|l| serves(l)) {
                contexts.push(self.context(location, Some(at)));
            }
        }
        contexts
    }

    /// True if this host serves repositories, by its own locations or those of all hosts.
    pub fn serves_in(&self, host: &ApacheHost<'_>) -> bool {
        self.global
            .locations
            .iter()
            .chain(&host.locations)
            .any(|l| serves(l))
    }

    fn context(&self, location: &'a Directive, host: Option<usize>) -> LocationContext<'a> {
        let path = path_of(location);
        let own = host.map(|at| &self.hosts[at]);
        let mut layers = vec![layer(&self.global.settings, false)];
        layers.extend(own.map(|host| layer(&host.settings, false)));
        for host in [Some(&self.global), own].into_iter().flatten() {
            for around in host
                .locations
                .iter()
                .filter(|around| contains(&path_of(around), &path))
            {
                let inner: Vec<&Directive> = around.inner.iter().flatten().collect();
                layers.push(layer(&inner, true));
            }
        }
        LocationContext {
            path,
            at: &location.at,
            host,
            layers,
        }
    }
}

impl<'a> ApacheHost<'a> {
    fn add(&mut self, directive: &'a Directive) {
        // A location with a pattern serves no repositories.
        match directive.is("Location") && !directive.arg(0).contains(['~', '*', '?', '[']) {
            true => self.locations.push(directive),
            false => self.settings.push(directive),
        }
    }

    /// Returns the last directive of this name.
    pub fn setting(&self, name: &str) -> Option<&'a Directive> {
        self.settings.iter().rev().find(|d| d.is(name)).copied()
    }
}

impl<'a> LocationContext<'a> {
    /// Returns the directive of this name that applies: the last.
    pub fn last(&self, name: &str) -> Option<&'a Directive> {
        let all = self
            .layers
            .iter()
            .rev()
            .flat_map(|layer| layer.directives.iter().rev());
        let mut fitting = all.filter(|directive| directive.is(name));
        fitting.next().copied()
    }

    /// Returns the section whose requirements apply: the last that has any.
    pub fn requiring(&self) -> Option<&Layer<'a>> {
        let of = |layer: &&Layer<'a>| layer.directives.iter().any(|held| held.is("Require"));
        self.layers.iter().rev().find(of)
    }

    /// Returns the requirements that apply.
    pub fn requirements(&self) -> Vec<&'a Directive> {
        let held = self.requiring().into_iter().flat_map(|layer| &layer.directives);
        held.filter(|held| held.is("Require")).copied().collect()
    }

    /// Returns all directives, of the locations only or of all sections.
    pub fn all(&self, locations_only: bool) -> impl Iterator<Item = &'a Directive> {
        let layers = self
            .layers
            .iter()
            .filter(move |layer| layer.location || !locations_only);
        layers.flat_map(|layer| layer.directives.iter().copied())
    }
}

/// Returns the methods of a `<Limit>` or `<LimitExcept>` section; `None` for other sections.
pub fn methods_of(directive: &Directive) -> Option<Methods<'_>> {
    let names = || directive.args.iter().map(String::as_str).collect();
    match directive.is("Limit") {
        true => Some(Methods::Only(names())),
        false if directive.is("LimitExcept") => Some(Methods::Except(names())),
        false => None,
    }
}

/// True if the section has `DAV svn`.
fn serves(location: &Directive) -> bool {
    let inner = location.inner.iter().flatten();
    let mut turned_on = inner.filter(|d| d.is("DAV") && d.arg(0).eq_ignore_ascii_case("svn"));
    turned_on.next().is_some()
}

/// Returns the URL prefix of a location.
pub fn path_of(location: &Directive) -> String {
    let parts = location.arg(0).split('/').filter(|part| !part.is_empty());
    let path = parts.fold(String::new(), |all, part| all + "/" + part);
    if path.is_empty() { "/".to_owned() } else { path }
}

/// True if a path is `around` or below it.
pub fn contains(around: &str, path: &str) -> bool {
    let rest = path.strip_prefix(around.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the directives of a section, with those of the sections in it that [`flatten`] resolves.
fn layer<'a>(directives: &[&'a Directive], location: bool) -> Layer<'a> {
    let mut layer = Layer {
        directives: Vec::new(),
        sections: directives.to_vec(),
        location,
    };
    for directive in directives {
        flatten(directive, &mut layer.directives);
    }
    layer
}

/// Appends a directive, or the directives inside a `<Limit…>` or `<Require…>` section. The recursion is bounded by
/// the reader's limit of nested sections.
pub fn flatten<'a>(directive: &'a Directive, out: &mut Vec<&'a Directive>) {
    let joins = ["RequireAny", "RequireAll", "RequireNone"];
    match &directive.inner {
        Some(inner) if methods_of(directive).is_some() || joins.iter().any(|name| directive.is(name)) => {
            inner.iter().for_each(|directive| flatten(directive, out));
        }
        // A section of another kind is kept, for the remark about untranslated sections.
        _ => out.push(directive),
    }
}
