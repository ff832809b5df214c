//! Parses Apache's configuration files into a tree of directives: quoting, continued lines, `${VARIABLES}`,
//! `Include`, and the sections that are evaluated while a file is read (`<IfDefine>`, `<IfModule>`, `<IfFile>`).
//!
//! If the files load mod_dav_svn, they load the other modules too, and `<IfModule>` is evaluated as by Apache. The file of a site alone loads
//! nothing: then `<IfModule name>` counts as true and `<IfModule !name>` as false, because a configuration that is imported has its modules in use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use base::{Code, Error, Result};

use super::glob;

/// A directive, or a section with the directives in it.
#[derive(Clone, Debug)]
pub struct Directive {
    /// The name as written; compare it with [`Directive::is`].
    pub name: String,
    pub args: Vec<String>,
    pub at: SourcePosition,
    /// The directives of a section; `None` for a plain directive.
    pub inner: Option<Vec<Directive>>,
}

/// The position of a directive.
#[derive(Clone, Debug)]
pub struct SourcePosition {
    pub file: Rc<PathBuf>,
    pub line: usize,
}

impl Directive {
    /// True if the directive has this name; case does not matter.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns the argument at `index`, or an empty string.
    pub fn arg(&self, index: usize) -> &str {
        self.args.get(index).map_or("", String::as_str)
    }

    /// True if the first argument is `On`.
    pub fn on(&self) -> bool {
        self.arg(0).eq_ignore_ascii_case("on")
    }

    /// Formats the directive on one line.
    pub fn shown(&self) -> String {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        match self.inner {
            Some(_) => format!("<{} {}>", self.name, args.join(" ")),
            None => format!("{} {}", self.name, args.join(" ")).trim_end().to_owned(),
        }
    }
}

impl std::fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// The reader of Apache's files. It processes them in Apache's order.
#[derive(Debug, Default)]
pub struct ApacheReader {
    /// The directory that relative names are relative to: `ServerRoot`.
    pub root: PathBuf,
    /// The variables: names of `Define`, and variables of the environment.
    pub defines: BTreeMap<String, String>,
    /// Remarks about skipped directives, with their positions.
    pub skipped: Vec<(SourcePosition, String)>,
    /// The loaded modules, if they are known: what `<IfModule>` compares with.
    pub modules: Option<BTreeSet<String>>,
    /// The modules that the files load.
    loaded: BTreeSet<String>,
    files: usize,
}

/// The modules that Apache has without loading them, at least in Debian.
const BUILT_IN: &[&str] = &[
    "core.c",
    "core_module",
    "http_core.c",
    "http_module",
    "mod_so.c",
    "so_module",
    "mod_log_config.c",
    "log_config_module",
    "mod_logio.c",
    "logio_module",
    "mod_unixd.c",
    "unixd_module",
    "mod_version.c",
    "version_module",
    "mod_watchdog.c",
    "watchdog_module",
];

/// The largest depth of nested includes, and of nested sections.
const MAX_DEPTH: usize = 32;
/// The largest number of files.
const MAX_FILES: usize = 4096;
/// The largest size of a file in bytes.
const MAX_BYTES: u64 = 4 << 20;

impl ApacheReader {
    /// Returns a reader for which relative names are relative to `root` until a `ServerRoot`.
    pub fn new(root: PathBuf) -> ApacheReader {
        ApacheReader {
            root,
            ..ApacheReader::default()
        }
    }

    /// Reads the file at `path` and everything that it includes.
    ///
    /// # Errors
    /// Errors of reading the files, and `MALFORMED_FILE` for sections that are not closed.
    pub fn read(&mut self, path: &Path) -> Result<Vec<Directive>> {
        self.file(path, 0)
    }

    /// Returns the modules that the files load, if they are all of the server's: that of Subversion is among them.
    pub fn all_modules(&self) -> Option<BTreeSet<String>> {
        self.loaded
            .contains("dav_svn_module")
            .then(|| self.loaded.clone())
    }

    /// True if `<IfModule name>` holds.
    fn has_module(&self, name: &str) -> bool {
        let Some(modules) = &self.modules else { return true };
        modules.contains(name) || BUILT_IN.contains(&name)
    }

    /// Notes a module. `<IfModule>` names it, or the source file that its library is made of.
    fn load(&mut self, directive: &Directive) {
        self.loaded.insert(directive.arg(0).to_owned());
        let library = Path::new(directive.arg(1)).file_stem().unwrap_or_default();
        self.loaded.insert(format!("{}.c", library.to_string_lossy()));
    }

    /// Reads `export NAME=VALUE` from the file in which Debian has Apache's variables, if it exists.
    pub fn read_variables(&mut self, path: &Path) {
        let Ok(text) = read(path) else { return };
        for line in text.lines() {
            let Some((name, value)) = line
                .trim()
                .strip_prefix("export ")
                .and_then(|rest| rest.split_once('='))
            else {
                continue;
            };
            // `$SUFFIX` distinguishes several instances; for the first one it is empty.
            let value = value.trim_matches(['"', '\'']).replace("$SUFFIX", "");
            if !value.contains(['$', '`']) {
                self.defines.entry(name.trim().to_owned()).or_insert(value);
            }
        }
    }

    fn file(&mut self, path: &Path, depth: usize) -> Result<Vec<Directive>> {
        self.files += 1;
        if depth > MAX_DEPTH || self.files > MAX_FILES {
            let text = format!("Too many files are included, the last is '{}'", path.display());
            return Err(Error::new(Code::MALFORMED_FILE, text));
        }
        let text = read(path)?;
        let file = Rc::new(path.to_owned());
        // The stack of open sections; the first stands for the file.
        let mut open: Vec<OpenSection> = vec![OpenSection::default()];
        for (line, text) in logical_lines(&text) {
            let at = SourcePosition {
                file: file.clone(),
                line,
            };
            let text = text.trim();
            if let Some(name) = text.strip_prefix("</") {
                let name = name.trim_end_matches('>').trim();
                self.close(&mut open, name, &at)?;
                continue;
            }
            let active = open.last().is_some_and(|section| section.active);
            if let Some(rest) = text.strip_prefix('<') {
                if open.len() > MAX_DEPTH {
                    return Err(malformed(&at, "sections lie too deep within each other"));
                }
                open.push(self.open(rest.strip_suffix('>').unwrap_or(rest), at, active));
                continue;
            }
            if !active {
                continue;
            }
            let mut args = words(&self.substituted(text, &at, true));
            if args.is_empty() {
                continue;
            }
            let name = args.remove(0);
            let directive = Directive {
                name,
                args,
                at,
                inner: None,
            };
            let more = self.directive(directive, depth)?;
            if let Some(section) = open.last_mut() {
                section.children.extend(more);
            }
        }
        match open.pop() {
            Some(top) if open.is_empty() => Ok(top.children),
            section => {
                let section = section.and_then(|section| section.head);
                let (name, at) = section.map_or((String::new(), SourcePosition { file, line: 0 }), |head| {
                    (head.name, head.at)
                });
                Err(malformed(&at, &format!("<{name}> is not closed")))
            }
        }
    }

    /// Processes a plain directive. Returns itself, the directives of included files, or nothing.
    fn directive(&mut self, directive: Directive, depth: usize) -> Result<Vec<Directive>> {
        if directive.is("Include") || directive.is("IncludeOptional") {
            let pattern = self.root.join(directive.arg(0));
            let paths = glob::expand(&pattern);
            if paths.is_empty() && directive.is("Include") {
                self.skipped.push((
                    directive.at.clone(),
                    format!("{}: no such file", directive.shown()),
                ));
            }
            let mut all = Vec::new();
            for path in paths {
                all.extend(self.file(&path, depth + 1)?);
            }
            return Ok(all);
        }
        if directive.is("ServerRoot") {
            self.root = PathBuf::from(directive.arg(0));
        } else if directive.is("Define") {
            let value = directive.arg(1).to_owned();
            self.defines.insert(directive.arg(0).to_owned(), value);
        } else if directive.is("UnDefine") {
            self.defines.remove(directive.arg(0));
        } else if directive.is("Use") {
            let text = format!("{}: macros are not expanded", directive.shown());
            self.skipped.push((directive.at.clone(), text));
        } else {
            if directive.is("LoadModule") {
                self.load(&directive);
            }
            return Ok(vec![directive]);
        }
        Ok(Vec::new())
    }

    /// Begins a section; `head` is the text between `<` and `>`.
    fn open(&mut self, head: &str, at: SourcePosition, active: bool) -> OpenSection {
        let mut args = words(&self.substituted(head, &at, active));
        let name = if args.is_empty() {
            String::new()
        } else {
            args.remove(0)
        };
        let argument = args.first().map_or("", String::as_str);
        let (negated, argument) = match argument.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, argument),
        };
        let lower = name.to_ascii_lowercase();
        let decided = match lower.as_str() {
            "ifdefine" => Some(self.defines.contains_key(argument) != negated),
            "iffile" => Some(self.root.join(argument).exists() != negated),
            "ifmodule" => Some(self.has_module(argument) != negated),
            "ifdirective" | "ifsection" => Some(!negated),
            "ifversion" => Some(true),
            "if" | "elseif" | "else" | "macro" if active => {
                let text = format!("<{name} {}>: what is in it was passed over", args.join(" "));
                self.skipped.push((at.clone(), text));
                // The section of a condition stays in the tree, because `closed` checks whether it refuses requests.
                (lower == "macro").then_some(false)
            }
            "macro" => Some(false),
            _ => None,
        };
        let head = Directive {
            name,
            args,
            at,
            inner: None,
        };
        OpenSection {
            active: active && decided.unwrap_or(true),
            transparent: decided.is_some(),
            head: Some(head),
            children: Vec::new(),
        }
    }

    fn close(&mut self, open: &mut Vec<OpenSection>, name: &str, at: &SourcePosition) -> Result<()> {
        let section = match open.len() {
            0 | 1 => None,
            _ => open.pop(),
        };
        let Some(OpenSection {
            head: Some(mut head),
            children,
            transparent,
            active,
        }) = section
        else {
            return Err(malformed(at, &format!("</{name}> closes nothing")));
        };
        if !head.is(name) {
            let text = format!("</{name}> closes <{}> of line {}", head.name, head.at.line);
            return Err(malformed(at, &text));
        }
        let Some(outer) = open.last_mut() else {
            return Ok(());
        };
        match (active, transparent) {
            (false, _) => {}
            (true, true) => outer.children.extend(children),
            (true, false) => {
                head.inner = Some(children);
                outer.children.push(head);
            }
        }
        Ok(())
    }

    /// Returns `text` with its `${VARIABLES}` replaced. Unknown ones stay and add a remark.
    fn substituted(&mut self, text: &str, at: &SourcePosition, active: bool) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            out.push_str(&rest[..start]);
            let Some(end) = rest[start..].find('}') else { break };
            let name = &rest[start + 2..start + end];
            match self.defines.get(name) {
                Some(value) => out.push_str(value),
                None => {
                    if active {
                        self.skipped
                            .push((at.clone(), format!("nobody says what ${{{name}}} is")));
                    }
                    out.push_str(&rest[start..=start + end]);
                }
            }
            rest = &rest[start + end + 1..];
        }
        out.push_str(rest);
        out
    }
}

/// A section that is being read.
#[derive(Debug)]
struct OpenSection {
    head: Option<Directive>,
    children: Vec<Directive>,
    /// True if its directives are in effect.
    active: bool,
    /// True if the section is evaluated while reading: its directives then belong to the section around it.
    transparent: bool,
}

impl Default for OpenSection {
    fn default() -> Self {
        OpenSection {
            head: None,
            children: Vec::new(),
            active: true,
            transparent: false,
        }
    }
}

fn malformed(at: &SourcePosition, text: &str) -> Error {
    Error::new(Code::MALFORMED_FILE, format!("{at}: {text}"))
}

/// Returns the text of the file at `path`. Bytes that are not UTF-8, usually in comments, are replaced.
///
/// # Errors
/// Errors of reading, and `MALFORMED_FILE` for a file that is too large.
pub fn read(path: &Path) -> Result<String> {
    let can_not = |e: std::io::Error| Error::io("Can't read file", path, &e);
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(can_not)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(can_not)?;
    if bytes.len() as u64 > MAX_BYTES {
        let text = format!("'{}' is too large for a configuration file", path.display());
        return Err(Error::new(Code::MALFORMED_FILE, text));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Joins continued lines, removes comments and empty lines, and numbers each line by its first physical line.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut pending: Option<(usize, String)> = None;
    for (at, line) in text.lines().enumerate() {
        let (number, mut whole) = pending.take().unwrap_or((at + 1, String::new()));
        match line.strip_suffix('\\') {
            Some(begun) => {
                whole.push_str(begun);
                pending = Some((number, whole));
            }
            None => {
                whole.push_str(line);
                lines.push((number, whole));
            }
        }
    }
    lines.extend(pending);
    lines.retain(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    lines
}

/// Splits a line into words, with quoting.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut letters = line.chars().peekable();
    loop {
        while letters.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(first) = letters.peek().copied() else {
            return words;
        };
        let mut word = String::new();
        if let Some(quote) = letters.next_if(|c| *c == '"' || *c == '\'') {
            while let Some(c) = letters.next() {
                match c {
                    c if c == quote => break,
                    '\\' => match letters.next_if(|next| *next == quote || *next == '\\') {
                        Some(escaped) => word.push(escaped),
                        None => word.push('\\'),
                    },
                    c => word.push(c),
                }
            }
            words.push(word);
            continue;
        }
        debug_assert!(!first.is_whitespace());
        while let Some(c) = letters.next_if(|c| !c.is_whitespace()) {
            word.push(c);
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(files: &[(&str, &str)]) -> Result<(Vec<Directive>, ApacheReader)> {
        let folder = tempfile::tempdir().expect("because /tmp is there");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("because it is in a folder"))
                .expect("because it is ours");
            fs::write(path, text).expect("because it is ours");
        }
        let mut reader = ApacheReader::new(folder.path().to_owned());
        let tree = reader.read(&folder.path().join(files[0].0))?;
        Ok((tree, reader))
    }

    fn names(tree: &[Directive]) -> Vec<String> {
        let shown = |d: &Directive| match &d.inner {
            None => d.shown(),
            Some(inner) => format!("{}{{{}}}", d.shown(), names(inner).join("; ")),
        };
        tree.iter().map(shown).collect()
    }

    #[test]
    fn quotes_continued_lines_variables_and_sections() {
        let text = "# a comment \\\nA 'b c' \"d \\\"e\\\"\" f\nDefine X /srv\nB ${X}/svn ${Y} \\\n  more\n\
                    <Location \"/a b\">\n C\n <Limit GET>\n  D\n </limit>\n</Location>\n";
        let (tree, reader) = parse(&[("x", text)]).expect("because it is well-formed");
        // Apache takes the line end before it looks for comments: the comment went on.
        assert_eq!(
            names(&tree),
            ["B /srv/svn ${Y} more", "<Location /a b>{C; <Limit GET>{D}}"]
        );
        assert_eq!(tree[0].at.line, 4);
        assert_eq!(reader.skipped.len(), 1);
        assert_eq!(words("A 'b c' \"d \\\"e\\\"\" f"), ["A", "b c", "d \"e\"", "f"]);
    }

    #[test]
    fn files_are_included_and_sections_decided() {
        let files = [
            (
                "main",
                "Include conf/*.conf\nIncludeOptional none/*\n<IfDefine S>\nY\n</IfDefine>\n<IfModule !a>\nN\n</IfModule>\n<IfModule a>\nZ\n</IfModule>",
            ),
            ("conf/b.conf", "B\n"),
            ("conf/a.conf", "A\nDefine S\n"),
            ("conf/a.bak", "NOT\n"),
        ];
        let (tree, _) = parse(&files).expect("because it is well-formed");
        assert_eq!(names(&tree), ["A", "B", "Y", "Z"]);
    }

    #[test]
    fn syntax_errors_are_reported_with_their_position() {
        for (text, expected) in [
            ("<Location /x>\nA\n", "/x:1: <Location> is not closed"),
            ("A\n</Location>\n", "/x:2: </Location> closes nothing"),
            ("<A>\n<B>\n</A>\n", "/x:3: </A> closes <B> of line 2"),
        ] {
            let error = parse(&[("x", text)]).expect_err("because it is broken");
            assert!(error.message().ends_with(expected), "{}", error.message());
        }
        let loops = parse(&[("x", "Include x\n")]).expect_err("because it never ends");
        assert!(
            loops.message().starts_with("Too many files"),
            "{}",
            loops.message()
        );
    }
}
