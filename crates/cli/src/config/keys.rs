//! Which keys exist, asked of the types themselves, and where each stands in a file.
//!
//! serde would stop at the first unknown key; an administrator wants to see all of them, each with its line and the name that
//! was probably meant. So the parsed text is walked once, beside the types' own lists of names.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Deserializer, Visitor, value};
use toml::de::{DeTable, DeValue};

use super::file;

/// A table: its name as in `[name]` (empty for the file itself), and its keys.
pub struct Table {
    pub name: &'static str,
    pub keys: &'static [&'static str],
}

/// All tables, in the order of the documentation.
pub fn tables() -> Vec<Table> {
    vec![
        of::<file::File>(""),
        of::<file::Listen>("listen"),
        of::<file::Serve>("serve"),
        of::<file::Location>("location"),
        of::<file::Redirect>("redirect"),
        of::<file::Auth>("auth"),
        of::<file::Ldap>("auth.ldap"),
        of::<file::Tls>("tls"),
        of::<file::Limits>("limits"),
        of::<file::Cache>("cache"),
        of::<file::Compression>("compression"),
        of::<file::Log>("log"),
        of::<file::Metrics>("metrics"),
        of::<file::Web>("web"),
    ]
}

/// Something that is wrong with a file: where, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// 0 if it has no place.
    pub line: usize,
    pub text: String,
}

/// The lines on which keys stand, by their full name (`location[1].auth.realm`, counted from 0).
#[derive(Clone, Debug, Default)]
pub struct Lines(BTreeMap<String, usize>);

impl Lines {
    /// The line of `key`, or of the nearest table around it; 0 if there is none.
    pub fn of(&self, key: &str) -> usize {
        let mut key = key;
        loop {
            if let Some(line) = self.0.get(key) {
                return *line;
            }
            match key.rfind(['.', '[']) {
                Some(at) => key = &key[..at],
                None => return 0,
            }
        }
    }
}

/// Notes where all keys of `parsed` stand, and complains about those that do not exist.
pub fn walk(text: &str, parsed: &DeTable<'_>) -> (Lines, Vec<Mistake>) {
    let mut walk = Walk {
        text,
        tables: tables(),
        lines: Lines::default(),
        mistakes: Vec::new(),
    };
    walk.table("", "", parsed);
    walk.mistakes.sort_by_key(|mistake| mistake.line);
    (walk.lines, walk.mistakes)
}

/// The number of the line in which byte `at` stands.
pub fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    1 + before.iter().filter(|b| **b == b'\n').count()
}

struct Walk<'a> {
    text: &'a str,
    tables: Vec<Table>,
    lines: Lines,
    mistakes: Vec<Mistake>,
}

impl Walk<'_> {
    /// `kind` is the table's name in [`tables`], `full` its place in this file. Recursion ends because the types do.
    fn table(&mut self, kind: &'static str, full: &str, table: &DeTable<'_>) {
        let keys = self
            .tables
            .iter()
            .find(|t| t.name == kind)
            .map_or(&[][..], |t| t.keys);
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let line = line_of(self.text, key.span().start);
            let full = joined(full, name);
            self.lines.0.insert(full.clone(), line);
            if !keys.contains(&name) {
                let text = self.unknown(kind, name, keys);
                self.mistakes.push(Mistake { line, text });
                continue;
            }
            let Some(inner) = self.inner(kind, name) else {
                continue;
            };
            match value.get_ref() {
                DeValue::Table(table) => self.table(inner, &full, table),
                DeValue::Array(items) => {
                    for (at, item) in items.iter().enumerate() {
                        let full = format!("{full}[{at}]");
                        let line = line_of(self.text, item.span().start);
                        self.lines.0.insert(full.clone(), line);
                        if let DeValue::Table(table) = item.get_ref() {
                            self.table(inner, &full, table);
                        }
                    }
                }
                // The types will say what they want.
                _ => {}
            }
        }
    }

    /// The table that the value of `key` is, if it is one.
    fn inner(&self, kind: &str, key: &str) -> Option<&'static str> {
        let name = match kind {
            // Locations have their own `auth`, of the same kind.
            "location" => key.to_owned(),
            _ => joined(kind, key),
        };
        let known = |table: &&Table| !table.name.is_empty() && table.name == name;
        self.tables.iter().find(known).map(|table| table.name)
    }

    fn unknown(&self, kind: &str, key: &str, keys: &[&str]) -> String {
        let place = match kind {
            "" => "at the top of the file".to_owned(),
            kind => format!("in [{kind}]"),
        };
        let meant = nearest(key, keys.iter().copied());
        let elsewhere = || {
            let others = self
                .tables
                .iter()
                .filter(|t| t.name != kind && t.keys.contains(&key));
            others.map(|t| t.name).next()
        };
        let hint = match (meant, elsewhere()) {
            (Some(name), _) => format!("; did you mean '{name}'?"),
            (None, Some("")) => "; it is a table of its own".to_owned(),
            (None, Some(table)) => format!("; it belongs in [{table}]"),
            (None, None) => format!("; there are {}", keys.join(", ")),
        };
        format!("unknown key '{key}' {place}{hint}")
    }
}

/// The name that differs least from `key`, if it is near enough to be meant.
pub fn nearest<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = names
        .map(|name| (distance(key, name), name))
        .min_by_key(|(distance, _)| *distance)?;
    (best.0 <= (key.len().max(best.1.len()) / 3).max(2)).then_some(best.1)
}

/// How many letters must be changed, added or dropped to make one word of the other. Long words are not compared.
fn distance(a: &str, b: &str) -> usize {
    const LONGEST: usize = 64;
    if a.len() > LONGEST || b.len() > LONGEST {
        return usize::MAX;
    }
    // `_`, capitals and `-` are the same mistake.
    let fold = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    strsim::levenshtein(&fold(a), &fold(b))
}

fn joined(table: &str, key: &str) -> String {
    match table {
        "" => key.to_owned(),
        table => format!("{table}.{key}"),
    }
}

fn of<T: DeserializeOwned>(name: &'static str) -> Table {
    let mut keys: &'static [&'static str] = &[];
    // It always fails: it only listens to what the type asks for.
    _ = T::deserialize(Names(&mut keys));
    Table { name, keys }
}

/// Hears the names of the fields that a struct asks for.
struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, value::Error> {
        *self.0 = fields;
        Err(serde::de::Error::custom(
            "because the names are all that was asked",
        ))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, value::Error> {
        Err(serde::de::Error::custom("because tables are structs"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let parsed = DeTable::parse(text).expect("because it is TOML");
        let (_, mistakes) = walk(text, parsed.get_ref());
        let shown = mistakes.iter().map(|m| format!("{}: {}", m.line, m.text));
        shown.collect()
    }

    #[test]
    fn every_table_of_the_file_is_known() {
        let tables = tables();
        for key in tables[0].keys {
            assert!(tables.iter().any(|t| t.name == *key), "{key} has no table");
        }
        assert!(tables.iter().all(|t| !t.keys.is_empty()));
    }

    #[test]
    fn unknown_keys_are_all_named_with_the_likely_one() {
        let text = "[listen]\nsnv = ':1'\n\n[[location]]\npath = '/'\nauto_versioning = true\n[location.auth]\nrelm = 'x'\n\
                    [[location]]\ncertificate = 'x'\nzzz = 1\n[locatoin]\n[auth.ldap]\nurl = 'x'\nbasedn = 'y'\n";
        let found = complaints(text);
        assert_eq!(found[0], "2: unknown key 'snv' in [listen]; did you mean 'svn'?");
        assert_eq!(
            found[1],
            "6: unknown key 'auto_versioning' in [location]; did you mean 'autoversioning'?"
        );
        assert_eq!(found[2], "8: unknown key 'relm' in [auth]; did you mean 'realm'?");
        assert_eq!(
            found[3],
            "10: unknown key 'certificate' in [location]; it belongs in [tls]"
        );
        assert!(
            found[4].starts_with("11: unknown key 'zzz' in [location]; there are path, parent, "),
            "{found:?}"
        );
        assert_eq!(
            found[5],
            "12: unknown key 'locatoin' at the top of the file; did you mean 'location'?"
        );
        assert!(found[6].starts_with("15: unknown key 'basedn' in [auth.ldap]"));
        assert_eq!(found.len(), 7);
    }

    #[test]
    fn lines_are_those_of_keys_or_what_is_around_them() {
        let text = "[tls]\n\ncertificate = 'x'\n[[location]]\n[[location]]\n\nname = 'n'\n";
        let parsed = DeTable::parse(text).expect("because it is TOML");
        let (lines, _) = walk(text, parsed.get_ref());
        assert_eq!(lines.of("tls.certificate"), 3);
        assert_eq!(lines.of("tls.key"), 1);
        assert_eq!(lines.of("location[1].name"), 7);
        assert_eq!(lines.of("location[1].path"), 5);
        assert_eq!(lines.of("web.browse"), 0);
    }

    const PAGE: &str = include_str!("../../../../docs/CONFIGURATION.md");

    /// What stands between backquotes in the first column of the tables below `heading`.
    fn first_column(heading: &str) -> Vec<&'static str> {
        let from = PAGE.find(&format!("\n{heading}\n"));
        let from = from.unwrap_or_else(|| panic!("{heading} is missing")) + heading.len() + 2;
        let section = PAGE[from..]
            .split("\n## ")
            .next()
            .expect("because there is always one");
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.filter_map(|row| row.split('`').next()).collect()
    }

    #[test]
    fn the_page_explains_every_key_and_no_other() {
        let tables = tables();
        for table in &tables[1..] {
            let heading = match table.name {
                name @ ("location" | "redirect") => format!("## [[{name}]]"),
                name => format!("## [{name}]"),
            };
            assert_eq!(first_column(&heading), table.keys, "{heading}");
        }
    }

    /// Every directive that mod_dav_svn and mod_authz_svn know, and those of httpd that matter to them.
    const DIRECTIVES: &str = "SVNPath SVNParentPath SVNListParentPath SVNReposName SVNSpecialURI SVNIndexXSLT SVNAutoversioning \
        SVNPathAuthz SVNMasterURI SVNMasterVersion SVNActivitiesDB SVNAllowBulkUpdates SVNAdvertiseV2Protocol SVNCacheTextDeltas \
        SVNCacheFullTexts SVNCacheNodeProps SVNCacheRevProps SVNBlockRead SVNInMemoryCacheSize SVNCompressionLevel SVNUseUTF8 \
        SVNHooksEnv AuthzSVNAccessFile AuthzSVNReposRelativeAccessFile AuthzSVNGroupsFile AuthzSVNAuthoritative \
        AuthzSVNAnonymous AuthzSVNNoAuthWhenAnonymousAllowed AuthzForceUsernameCase LimitXMLRequestBody LimitRequestBody \
        DavDepthInfinity DavMinTimeout ServerSignature KeepAlive MaxKeepAliveRequests ModMimeUsePathInfo Require Satisfy";

    #[test]
    fn the_page_has_a_row_for_every_directive() {
        let rows = first_column("## Apache's directives, and svnserve's options");
        assert!(rows.contains(&"DAV svn") && rows.contains(&"SetHandler svn-status"));
        for directive in DIRECTIVES.split_whitespace() {
            assert!(
                rows.contains(&directive),
                "{directive} has no counterpart and no reason"
            );
        }
    }

    #[test]
    fn the_page_names_only_keys_that_exist() {
        // `level` in `[compression]`, as the table of directives says it.
        let tables = tables();
        for (at, _) in PAGE.match_indices("` in `[") {
            let key = PAGE[..at].rsplit('`').next().expect("because there is one");
            let table = PAGE[at + 7..].split(']').next().expect("because there is one");
            let known = tables.iter().find(|t| t.name == table);
            assert!(known.is_some_and(|t| t.keys.contains(&key)), "{key} in [{table}]");
        }
    }

    #[test]
    fn the_example_on_the_page_has_no_mistakes() {
        let example = PAGE
            .split("```toml\n")
            .nth(1)
            .and_then(|rest| rest.split("```").next());
        let text = example.expect("because there is one");
        let parsed = super::super::Config::parse(std::path::Path::new("example.toml"), text, |_| ());
        assert!(parsed.is_ok(), "{parsed:?}");
    }
}
