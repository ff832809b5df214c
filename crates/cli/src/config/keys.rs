//! The keys that exist, taken from the types themselves, and the line of each key in a file.
//!
//! serde stops at the first unknown key. An administrator wants to see all of them, each with its line and the key
//! that was probably meant. Therefore the parsed text is walked once and compared with the types' lists of fields.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Deserializer, Visitor, value};
use toml::de::{DeTable, DeValue};

use super::file;

/// A table: its name as in `[name]` (empty for the top of the file), and its keys.
pub struct TableKeys {
    pub name: &'static str,
    pub keys: &'static [&'static str],
}

/// Returns all tables, in the order of the documentation.
pub fn tables() -> Vec<TableKeys> {
    vec![
        table_keys::<file::ConfigFile>(""),
        table_keys::<file::ListenTable>("listen"),
        table_keys::<file::ServeTable>("serve"),
        table_keys::<file::LocationTable>("location"),
        table_keys::<file::RedirectTable>("redirect"),
        table_keys::<file::AuthTable>("auth"),
        table_keys::<file::LdapTable>("auth.ldap"),
        table_keys::<file::TlsTable>("tls"),
        table_keys::<file::LimitsTable>("limits"),
        table_keys::<file::CacheTable>("cache"),
        table_keys::<file::CompressionTable>("compression"),
        table_keys::<file::LogTable>("log"),
        table_keys::<file::MetricsTable>("metrics"),
        table_keys::<file::WebTable>("web"),
        table_keys::<file::ClusterTable>("cluster"),
    ]
}

/// A mistake in a file: its line and a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1; 0 if the mistake belongs to no line.
    pub line: usize,
    pub text: String,
}

/// The line of each key by its full name, such as `location[1].auth.realm` (indexes from 0).
#[derive(Clone, Debug, Default)]
pub struct KeyLines(BTreeMap<String, usize>);

impl KeyLines {
    /// Returns the line of `key`, or of the innermost table around it that is in the file; 0 if there is none.
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

/// Returns the lines of all keys of `parsed`, and a mistake for each key that does not exist.
pub fn walk(text: &str, parsed: &DeTable<'_>) -> (KeyLines, Vec<Mistake>) {
    let mut walk = KeyWalk {
        text,
        tables: tables(),
        lines: KeyLines::default(),
        mistakes: Vec::new(),
    };
    walk.table("", "", parsed);
    walk.mistakes.sort_by_key(|mistake| mistake.line);
    (walk.lines, walk.mistakes)
}

/// Returns the number, from 1, of the line that contains byte `at`.
pub fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    1 + before.iter().filter(|b| **b == b'\n').count()
}

struct KeyWalk<'a> {
    text: &'a str,
    tables: Vec<TableKeys>,
    lines: KeyLines,
    mistakes: Vec<Mistake>,
}

impl KeyWalk<'_> {
    /// Visits a table. `kind` is its name in [`tables`], `full` its full name in this file. The recursion is bounded
    /// because the types are not recursive.
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
                // serde reports the wrong type later.
                _ => {}
            }
        }
    }

    /// Returns the name of the table that is the value of `key`, or `None` if the value is no table.
    fn inner(&self, kind: &str, key: &str) -> Option<&'static str> {
        let name = match kind {
            // The `auth` of a location has the same keys as the `auth` of the server.
            "location" => key.to_owned(),
            _ => joined(kind, key),
        };
        let known = |table: &&TableKeys| !table.name.is_empty() && table.name == name;
        self.tables.iter().find(known).map(|table| table.name)
    }

    fn unknown(&self, kind: &str, key: &str, keys: &[&str]) -> String {
        let location = match kind {
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
        format!("unknown key '{key}' {location}{hint}")
    }
}

/// Returns the name with the least edit distance from `key`, if the distance is small enough for a typing error.
pub fn nearest<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = names
        .map(|name| (distance(key, name), name))
        .min_by_key(|(distance, _)| *distance)?;
    (best.0 <= (key.len().max(best.1.len()) / 3).max(2)).then_some(best.1)
}

/// Returns the edit distance of two words: letters changed, added or removed. Long words are not compared.
fn distance(a: &str, b: &str) -> usize {
    const LONGEST: usize = 64;
    if a.len() > LONGEST || b.len() > LONGEST {
        return usize::MAX;
    }
    // `_` for `-` and capital letters do not count as differences.
    let fold = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    strsim::levenshtein(&fold(a), &fold(b))
}

fn joined(table: &str, key: &str) -> String {
    match table {
        "" => key.to_owned(),
        table => format!("{table}.{key}"),
    }
}

fn table_keys<T: DeserializeOwned>(name: &'static str) -> TableKeys {
    let mut keys: &'static [&'static str] = &[];
    // This always fails: `FieldNames` only records the fields that the type requests.
    _ = T::deserialize(FieldNames(&mut keys));
    TableKeys { name, keys }
}

/// A deserializer that stores the field names that a struct requests, and then fails.
struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
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
    fn a_missing_key_has_the_line_of_its_table() {
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

    /// Returns the texts between backquotes in the first column of the tables below `heading`.
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
    fn the_documentation_lists_exactly_the_existing_keys() {
        let tables = tables();
        for table in &tables[1..] {
            let heading = match table.name {
                name @ ("location" | "redirect") => format!("## [[{name}]]"),
                name => format!("## [{name}]"),
            };
            assert_eq!(first_column(&heading), table.keys, "{heading}");
        }
    }

    /// All directives of mod_dav_svn and mod_authz_svn, and those of httpd that affect them.
    const DIRECTIVES: &str = "SVNPath SVNParentPath SVNListParentPath SVNReposName SVNSpecialURI SVNIndexXSLT SVNAutoversioning \
        SVNPathAuthz SVNMasterURI SVNMasterVersion SVNActivitiesDB SVNAllowBulkUpdates SVNAdvertiseV2Protocol SVNCacheTextDeltas \
        SVNCacheFullTexts SVNCacheNodeProps SVNCacheRevProps SVNBlockRead SVNInMemoryCacheSize SVNCompressionLevel SVNUseUTF8 \
        SVNHooksEnv AuthzSVNAccessFile AuthzSVNReposRelativeAccessFile AuthzSVNGroupsFile AuthzSVNAuthoritative \
        AuthzSVNAnonymous AuthzSVNNoAuthWhenAnonymousAllowed AuthzForceUsernameCase LimitXMLRequestBody LimitRequestBody \
        DavDepthInfinity DavMinTimeout ServerSignature KeepAlive MaxKeepAliveRequests ModMimeUsePathInfo Require Satisfy";

    #[test]
    fn the_documentation_has_a_row_for_every_directive() {
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
    fn the_documentation_names_only_existing_keys() {
        // The table of directives names keys as: `level` in `[compression]`.
        let tables = tables();
        for (at, _) in PAGE.match_indices("` in `[") {
            let key = PAGE[..at].rsplit('`').next().expect("because there is one");
            let table = PAGE[at + 7..].split(']').next().expect("because there is one");
            let known = tables.iter().find(|t| t.name == table);
            assert!(known.is_some_and(|t| t.keys.contains(&key)), "{key} in [{table}]");
        }
    }

    #[test]
    fn the_documented_example_has_no_mistakes() {
        let example = PAGE
            .split("```toml\n")
            .nth(1)
            .and_then(|rest| rest.split("```").next());
        let text = example.expect("because there is one");
        let parsed = super::super::Config::parse(std::path::Path::new("example.toml"), text, |_| ());
        assert!(parsed.is_ok(), "{parsed:?}");
    }
}
