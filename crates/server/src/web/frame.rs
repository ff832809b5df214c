//! The frame of all pages: the links to the parents, the revision, the other views of the node.

use base::{FsPath, NodeKind, Revnum};

use super::{ViewedNode, url};
use crate::site::RequestContext;

/// The style of all pages.
pub(super) const STYLE: &str = include_str!("../../templates/web/style.css");

/// A link to a parent of the node.
pub(super) struct Crumb {
    pub(super) name: String,
    pub(super) href: String,
}

/// A link to another view of the node.
pub(super) struct Tab {
    pub(super) name: &'static str,
    pub(super) href: String,
    pub(super) current: bool,
}

/// The parts of a page around its content.
pub(super) struct PageFrame {
    pub(super) title: String,
    pub(super) crumbs: Vec<Crumb>,
    pub(super) tabs: Vec<Tab>,
    pub(super) has_revision: bool,
    pub(super) rev: String,
    /// The view that the form for another revision keeps.
    pub(super) view: &'static str,
    pub(super) foot: String,
}

impl PageFrame {
    /// Returns the frame of a page that is not about a node.
    pub(super) fn bare(title: String, crumbs: Vec<Crumb>) -> PageFrame {
        PageFrame {
            title,
            crumbs,
            tabs: Vec::new(),
            has_revision: false,
            rev: String::new(),
            view: "",
            foot: String::new(),
        }
    }

    /// Returns the frame of the page `view` of a node.
    pub(super) fn of(context: &RequestContext<'_>, viewed: &ViewedNode, view: &'static str) -> PageFrame {
        let rev = viewed.pegged.then_some(viewed.rev);
        let name = context
            .mount
            .location
            .name
            .clone()
            .unwrap_or_else(|| context.mount.basename());
        PageFrame {
            crumbs: crumbs(context, viewed, name.clone(), rev),
            tabs: tabs(context, viewed, view, rev),
            title: format!("{}: {} (r{})", name, viewed.path, viewed.rev),
            has_revision: true,
            rev: viewed.rev.to_string(),
            view,
            foot: format!("Revision {} of {}", viewed.rev, name),
        }
    }

    /// Returns the style, for templates.
    pub(super) fn style(&self) -> &'static str {
        STYLE
    }
}

/// Returns the links to the parents of a node, and to itself.
fn crumbs(
    context: &RequestContext<'_>,
    viewed: &ViewedNode,
    repository: String,
    rev: Option<Revnum>,
) -> Vec<Crumb> {
    let mut crumbs = vec![Crumb {
        href: url(context, &FsPath::root(), NodeKind::Dir, "", rev),
        name: repository,
    }];
    let (is_cut, shown) = last_parents(&viewed.path);
    for (at, path) in shown.iter().enumerate() {
        let last = at + 1 == shown.len();
        let (kind, below) = match last && viewed.kind == NodeKind::File {
            true => (NodeKind::File, "file"),
            false => (NodeKind::Dir, ""),
        };
        let name = match is_cut && at == 0 {
            true => "…",
            false => path.basename(),
        };
        crumbs.push(Crumb {
            href: url(context, path, kind, below, rev),
            name: name.to_owned(),
        });
    }
    crumbs
}

/// Returns the links to the views of a node; `view` is the one that is shown.
fn tabs(context: &RequestContext<'_>, viewed: &ViewedNode, view: &str, rev: Option<Revnum>) -> Vec<Tab> {
    let views: &[(&'static str, &'static str)] = match viewed.kind {
        NodeKind::File => &[
            ("File", "file"),
            ("Blame", "blame"),
            ("Log", "log"),
            ("Download", "download"),
        ],
        _ => &[("Files", ""), ("Log", "log")],
    };
    let mut tabs: Vec<Tab> = views
        .iter()
        .map(|(name, other)| Tab {
            name,
            href: url(context, &viewed.path, viewed.kind, other, rev),
            current: *other == view,
        })
        .collect();
    if viewed.kind == NodeKind::File {
        tabs.push(Tab {
            name: "Raw",
            href: url(context, &viewed.path, viewed.kind, "", rev),
            current: false,
        });
    }
    let root = FsPath::root();
    tabs.push(Tab {
        name: "Revision",
        href: url(context, &root, NodeKind::Dir, "revision", Some(viewed.rev)),
        current: view == "revision",
    });
    tabs
}

/// Returns the last parents of `path`, and whether some are left out before them. Each link has a whole path, so links to all parents
/// would take space that grows with the square of the depth.
fn last_parents(path: &FsPath) -> (bool, Vec<FsPath>) {
    let above = std::iter::successors(Some(path.clone()), FsPath::parent).filter(|path| !path.is_root());
    let mut shown: Vec<FsPath> = above.take(MAX_CRUMBS + 1).collect();
    shown.reverse();
    (shown.len() > MAX_CRUMBS, shown)
}

/// The highest number of parents that are shown.
const MAX_CRUMBS: usize = 32;

/// Returns a stored date in a readable form.
pub(super) fn date(stored: Option<&[u8]>) -> String {
    let text = String::from_utf8_lossy(stored.unwrap_or_default());
    match (text.get(0..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text.into_owned(),
    }
}

/// Returns a size in a readable form.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Returns the properties as text, without those that the server adds.
pub(super) fn properties(all: &base::Props) -> Vec<(String, String)> {
    all.iter()
        .filter(|(name, _)| !name.starts_with("svn:entry:"))
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

/// Returns bytes as text; malformed UTF-8 is replaced.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_dates_are_readable() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 << 20), "5.0 MiB");
        assert_eq!(size(u64::MAX), "15.9 EiB");
        assert_eq!(date(Some(b"2026-11-21T19:31:22.137689Z")), "2026-11-21 19:31 UTC");
        assert_eq!(date(Some("é".as_bytes())), "é");
        assert_eq!(date(None), "");
    }
}
