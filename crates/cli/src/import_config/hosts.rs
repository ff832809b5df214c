//! What an Apache configuration serves with Subversion: hosts, locations, and for each location all directives that hold there,
//! in the order in which Apache merges them (the server's, the host's, then those of every location around it).

use super::syntax::{At, Directive};

/// A whole configuration.
#[derive(Debug, Default)]
pub struct Server<'a> {
    /// Outside of any host.
    pub global: Host<'a>,
    pub hosts: Vec<Host<'a>>,
}

/// A `<VirtualHost>`, or what stands outside of all.
#[derive(Debug, Default)]
pub struct Host<'a> {
    /// As written: `*:443`.
    pub addresses: Vec<&'a str>,
    pub settings: Vec<&'a Directive>,
    pub locations: Vec<&'a Directive>,
}

/// A location with repositories.
#[derive(Debug)]
pub struct LocationContext<'a> {
    /// The beginning of its URLs.
    pub path: String,
    pub at: &'a At,
    /// Of the host that it is in; `None` if it is in all.
    pub host: Option<usize>,
    pub layers: Vec<Layer<'a>>,
}

/// The directives of one section that holds for a place.
#[derive(Debug, Default)]
pub struct Layer<'a> {
    /// Without the sections that only say for which methods they hold, or how requirements are joined.
    pub directives: Vec<&'a Directive>,
    /// The same, in these sections.
    pub sections: Vec<&'a Directive>,
    /// It is a location; else the server or a host.
    pub location: bool,
}

/// `<Limit>` and `<LimitExcept>`.
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
            // Apache knows HEAD as GET.
            Methods::Only(list) => listed(list),
            Methods::Except(list) => !listed(list),
        }
    }
}

impl<'a> Server<'a> {
    /// Sorts what was read.
    pub fn of(tree: &'a [Directive]) -> Server<'a> {
        let mut server = Server::default();
        for directive in tree {
            match &directive.inner {
                Some(inner) if directive.is("VirtualHost") => {
                    let mut host = Host {
                        addresses: directive.args.iter().map(String::as_str).collect(),
                        ..Host::default()
                    };
                    inner.iter().for_each(|directive| host.add(directive));
                    server.hosts.push(host);
                }
                _ => server.global.add(directive),
            }
        }
        server
    }

    /// Every location with `DAV svn`.
    pub fn places(&self) -> Vec<LocationContext<'a>> {
        let mut places = Vec::new();
        for location in self.global.locations.iter().filter(|l| serves(l)) {
            places.push(self.place(location, None));
        }
        for (at, host) in self.hosts.iter().enumerate() {
            for location in host.locations.iter().filter(|l| serves(l)) {
                places.push(self.place(location, Some(at)));
            }
        }
        places
    }

    /// True if repositories are served in this host: in all, or in itself.
    pub fn serves_in(&self, host: &Host<'_>) -> bool {
        self.global
            .locations
            .iter()
            .chain(&host.locations)
            .any(|l| serves(l))
    }

    fn place(&self, location: &'a Directive, host: Option<usize>) -> LocationContext<'a> {
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

impl<'a> Host<'a> {
    fn add(&mut self, directive: &'a Directive) {
        // Of a pattern nothing is served.
        match directive.is("Location") && !directive.arg(0).contains(['~', '*', '?', '[']) {
            true => self.locations.push(directive),
            false => self.settings.push(directive),
        }
    }

    /// The last setting of this name.
    pub fn setting(&self, name: &str) -> Option<&'a Directive> {
        self.settings.iter().rev().find(|d| d.is(name)).copied()
    }
}

impl<'a> LocationContext<'a> {
    /// The directive of this name that holds: the last.
    pub fn last(&self, name: &str) -> Option<&'a Directive> {
        let all = self
            .layers
            .iter()
            .rev()
            .flat_map(|layer| layer.directives.iter().rev());
        let mut fitting = all.filter(|directive| directive.is(name));
        fitting.next().copied()
    }

    /// The section whose requirements hold: the last that has any.
    pub fn requiring(&self) -> Option<&Layer<'a>> {
        let of = |layer: &&Layer<'a>| layer.directives.iter().any(|held| held.is("Require"));
        self.layers.iter().rev().find(of)
    }

    /// The requirements that hold.
    pub fn requirements(&self) -> Vec<&'a Directive> {
        let held = self.requiring().into_iter().flat_map(|layer| &layer.directives);
        held.filter(|held| held.is("Require")).copied().collect()
    }

    /// All directives, of the locations only or of all sections.
    pub fn all(&self, locations_only: bool) -> impl Iterator<Item = &'a Directive> {
        let layers = self
            .layers
            .iter()
            .filter(move |layer| layer.location || !locations_only);
        layers.flat_map(|layer| layer.directives.iter().copied())
    }
}

/// The methods of a section that says for which ones it holds.
pub fn methods_of(directive: &Directive) -> Option<Methods<'_>> {
    let names = || directive.args.iter().map(String::as_str).collect();
    match directive.is("Limit") {
        true => Some(Methods::Only(names())),
        false if directive.is("LimitExcept") => Some(Methods::Except(names())),
        false => None,
    }
}

/// True if the section turns Subversion on.
fn serves(location: &Directive) -> bool {
    let inner = location.inner.iter().flatten();
    let mut turned_on = inner.filter(|d| d.is("DAV") && d.arg(0).eq_ignore_ascii_case("svn"));
    turned_on.next().is_some()
}

/// The beginning of a location's URLs.
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

/// The directives of a section, with those of the sections in it that only say for which methods they hold.
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

/// Ends, because sections do not lie deep within each other.
pub fn flatten<'a>(directive: &'a Directive, out: &mut Vec<&'a Directive>) {
    let joins = ["RequireAny", "RequireAll", "RequireNone"];
    match &directive.inner {
        Some(inner) if methods_of(directive).is_some() || joins.iter().any(|name| directive.is(name)) => {
            inner.iter().for_each(|directive| flatten(directive, out));
        }
        // A section of another kind is kept as it is, for the remark about what was not translated.
        _ => out.push(directive),
    }
}
