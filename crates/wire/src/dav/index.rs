//! The plain listings of directories that Apache shows to browsers, as HTML and as XML for a stylesheet.

use std::fmt::Write as _;

use base::Revnum;

use super::uri::encode_lower;
use super::xml::escape_attribute;

/// A directory, or a directory of repositories.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryIndex<'a> {
    /// Name of the server's repositories (`SVNReposName`).
    pub name: Option<&'a str>,
    /// Last part of the repository's path.
    pub base: &'a str,
    /// Path, and the revision unless it is in a transaction; none for a collection of repositories.
    pub at: Option<(Option<Revnum>, &'a str)>,
    /// Links lead to this revision as well.
    pub peg: Option<Revnum>,
    /// There is something above.
    pub up: bool,
}

/// One line of a listing.
#[derive(Clone, Copy, Debug)]
pub struct IndexEntry<'a> {
    /// Its name.
    pub name: &'a str,
    /// It is a directory.
    pub is_dir: bool,
}

impl DirectoryIndex<'_> {
    /// Begins the page.
    pub fn open_html(&self, out: &mut String) {
        let mut title = String::new();
        match self.at {
            None => title.push_str("Collection of Repositories"),
            Some((rev, path)) => {
                if let Some(name) = self.name {
                    _ = write!(title, "{name}: ");
                }
                _ = match rev {
                    Some(rev) => write!(title, "{} - Revision {rev}: {path}", self.base),
                    None => write!(title, "{} - {path}", self.base),
                };
            }
        }
        let mut escaped = String::new();
        escape_attribute(&title, &mut escaped);
        _ = writeln!(
            out,
            "<html><head><title>{escaped}</title></head>\n<body>\n <h2>{escaped}</h2>\n <ul>"
        );
        if self.up {
            _ = writeln!(out, "  <li><a href=\"../{}\">..</a></li>", self.tail());
        }
    }

    /// Adds a line to the page.
    pub fn line_html(&self, line: IndexEntry<'_>, out: &mut String) {
        out.push_str("  <li><a href=\"");
        self.href(line, out);
        out.push_str("\">");
        escape_attribute(line.name, out);
        out.push_str(slash(line));
        out.push_str("</a></li>\n");
    }

    /// Ends the page.
    pub fn close_html(&self, out: &mut String) {
        out.push_str(" </ul>\n</body></html>");
    }

    /// Begins the document for the stylesheet at `xslt`.
    pub fn open_xml(&self, xslt: &str, out: &mut String) {
        out.push_str("<?xml version=\"1.0\"?>\n<?xml-stylesheet type=\"text/xsl\" href=\"");
        // A closing mark would end the instruction; no address has one.
        escape_attribute(&xslt.replace("?>", ""), out);
        out.push_str("\"?>\n");
        out.push_str(DOCTYPE);
        _ = write!(
            out,
            "<svn version=\"{VERSION}\"\n     href=\"http://subversion.apache.org/\">\n  <index"
        );
        if let Some(name) = self.name {
            attribute("name", name, out);
        }
        if let Some((rev, path)) = self.at {
            if let Some(rev) = rev {
                attribute("rev", &rev.to_string(), out);
            }
            attribute("path", path, out);
            attribute("base", self.base, out);
        }
        out.push_str(">\n");
        if self.up {
            _ = writeln!(out, "    <updir href=\"../{}\"/>", self.tail());
        }
    }

    /// Adds a line to the document.
    pub fn line_xml(&self, line: IndexEntry<'_>, out: &mut String) {
        out.push_str(if line.is_dir { "    <dir" } else { "    <file" });
        attribute("name", line.name, out);
        out.push_str(" href=\"");
        self.href(line, out);
        out.push_str("\" />\n");
    }

    /// Ends the document.
    pub fn close_xml(&self, out: &mut String) {
        out.push_str("  </index>\n</svn>\n");
    }

    fn href(&self, line: IndexEntry<'_>, out: &mut String) {
        let mut url = String::new();
        encode_lower(line.name, &mut url);
        // Before a colon it would be taken for a scheme.
        if url.split('/').next().is_some_and(|first| first.contains(':')) {
            url.insert_str(0, "./");
        }
        url.push_str(slash(line));
        url.push_str(&self.tail());
        escape_attribute(&url, out);
    }

    fn tail(&self) -> String {
        self.peg.map_or(String::new(), |rev| format!("?p={rev}"))
    }
}

fn slash(line: IndexEntry<'_>) -> &'static str {
    if line.is_dir { "/" } else { "" }
}

fn attribute(name: &str, value: &str, out: &mut String) {
    _ = write!(out, " {name}=\"");
    escape_attribute(value, out);
    out.push('"');
}

/// Stylesheets look at it.
const VERSION: &str = "1.14.2 (r1899510)";

const DOCTYPE: &str = "\
<!DOCTYPE svn [
  <!ELEMENT svn   (index)>
  <!ATTLIST svn   version CDATA #REQUIRED
                  href    CDATA #REQUIRED>
  <!ELEMENT index (updir?, (file | dir)*)>
  <!ATTLIST index name    CDATA #IMPLIED
                  path    CDATA #IMPLIED
                  rev     CDATA #IMPLIED
                  base    CDATA #IMPLIED>
  <!ELEMENT updir EMPTY>
  <!ATTLIST updir href    CDATA #REQUIRED>
  <!ELEMENT file  EMPTY>
  <!ATTLIST file  name    CDATA #REQUIRED
                  href    CDATA #REQUIRED>
  <!ELEMENT dir   EMPTY>
  <!ATTLIST dir   name    CDATA #REQUIRED
                  href    CDATA #REQUIRED>
]>
";

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [IndexEntry<'static>; 3] = [
        IndexEntry {
            name: "100%;x.txt",
            is_dir: false,
        },
        IndexEntry {
            name: "b file&é.txt",
            is_dir: false,
        },
        IndexEntry {
            name: "deep",
            is_dir: true,
        },
    ];

    /// Recorded from Apache.
    #[test]
    fn html_is_apaches() {
        let index = DirectoryIndex {
            name: Some("Lab"),
            base: "r",
            at: Some((Some(Revnum(3)), "/trunk/sub")),
            peg: Some(Revnum(3)),
            up: true,
        };
        let mut out = String::new();
        index.open_html(&mut out);
        for line in LINES {
            index.line_html(line, &mut out);
        }
        index.close_html(&mut out);
        assert_eq!(
            out,
            "<html><head><title>Lab: r - Revision 3: /trunk/sub</title></head>\n<body>\n \
             <h2>Lab: r - Revision 3: /trunk/sub</h2>\n <ul>\n  \
             <li><a href=\"../?p=3\">..</a></li>\n  \
             <li><a href=\"100%25;x.txt?p=3\">100%;x.txt</a></li>\n  \
             <li><a href=\"b%20file&amp;%c3%a9.txt?p=3\">b file&amp;é.txt</a></li>\n  \
             <li><a href=\"deep/?p=3\">deep/</a></li>\n </ul>\n</body></html>"
        );
    }

    /// Recorded from Apache.
    #[test]
    fn xml_is_apaches() {
        let index = DirectoryIndex {
            name: None,
            base: "xslt",
            at: Some((Some(Revnum(3)), "/trunk/sub")),
            peg: Some(Revnum(3)),
            up: true,
        };
        let mut out = String::new();
        index.open_xml("/x.xsl", &mut out);
        for line in LINES {
            index.line_xml(line, &mut out);
        }
        index.close_xml(&mut out);
        let (head, body) = out.split_once("]>\n").expect("because there is a document type");
        assert!(head.starts_with(
            "<?xml version=\"1.0\"?>\n<?xml-stylesheet type=\"text/xsl\" href=\"/x.xsl\"?>\n<!DOCTYPE svn [\n"
        ));
        assert_eq!(
            body,
            "<svn version=\"1.14.2 (r1899510)\"\n     href=\"http://subversion.apache.org/\">\n  \
             <index rev=\"3\" path=\"/trunk/sub\" base=\"xslt\">\n    <updir href=\"../?p=3\"/>\n    \
             <file name=\"100%;x.txt\" href=\"100%25;x.txt?p=3\" />\n    \
             <file name=\"b file&amp;é.txt\" href=\"b%20file&amp;%c3%a9.txt?p=3\" />\n    \
             <dir name=\"deep\" href=\"deep/?p=3\" />\n  </index>\n</svn>\n"
        );
    }

    #[test]
    fn names_do_not_break_out() {
        let index = DirectoryIndex {
            name: None,
            base: "\"<b>",
            at: None,
            peg: None,
            up: false,
        };
        let mut out = String::new();
        index.line_html(
            IndexEntry {
                name: "javascript:\"><script>",
                is_dir: false,
            },
            &mut out,
        );
        assert_eq!(
            out,
            "  <li><a href=\"./javascript:%22%3e%3cscript%3e\">javascript:&quot;&gt;&lt;script&gt;</a></li>\n"
        );
    }
}
