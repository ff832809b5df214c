//! The property `svn:externals`: nodes of other URLs that belong into a directory.
//!
//! Each line is one external, in one of two forms: `[-rREV] URL[@PEG] TARGET`, and the older `TARGET [-rREV] URL` with an
//! absolute URL. Words may be quoted, and characters escaped with a backslash. URLs may be relative: `../` to the directory's URL, `^/` to
//! the repository's root, `//` to the scheme, `/` to the server.

use base::{Code, Error, RelPath, Result, Url};

pub use crate::revision::ParseDate;
use crate::revision::Revision;

/// The property.
pub const EXTERNALS: &str = "svn:externals";

/// One external.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// Its path below the directory that has the property.
    pub target: RelPath,
    /// Its URL as it is in the property: absolute or relative, without peg revision.
    pub url: String,
    /// The revision in which the URL names the node.
    pub peg: Revision,
    /// The revision of the node.
    pub rev: Revision,
}

/// Parses the property of the directory that is called `directory` in messages.
///
/// # Errors
/// `CLIENT_INVALID_EXTERNALS_DESCRIPTION` for a line that is not an external.
pub fn parse(directory: &str, value: &[u8], parse_date: ParseDate<'_>) -> Result<Vec<External>> {
    // As in Subversion, a NUL ends the text.
    let value = value.split(|byte| *byte == 0).next().unwrap_or_default();
    let value = String::from_utf8_lossy(value);
    let mut externals = Vec::new();
    for line in value.split(['\n', '\r']) {
        let line = line.trim_matches([' ', '\t']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        externals.push(parse_line(directory, line, parse_date)?);
    }
    Ok(externals)
}

fn parse_line(directory: &str, line: &str, parse_date: ParseDate<'_>) -> Result<External> {
    let broken = || {
        let message = format!("Error parsing svn:externals property on '{directory}': '{line}'");
        Error::new(Code::CLIENT_INVALID_EXTERNALS_DESCRIPTION, message)
    };
    let mut words = words(line);
    let option = words.iter().take(2).position(|word| word.starts_with("-r"));
    let mut rev = None;
    if let Some(at) = option {
        let word = words.remove(at);
        let text = match &word[2..] {
            "" if at < words.len() => words.remove(at),
            text => text.to_owned(),
        };
        let found = Revision::parse(&text, parse_date);
        let found = found.filter(|found| matches!(found, Revision::Number(_) | Revision::Date(_)));
        rev = Some(found.ok_or_else(broken)?);
    }
    let [first, second] = <[String; 2]>::try_from(words).map_err(|_| broken())?;
    let invalid = |what: String| {
        let message = format!("Invalid svn:externals property on '{directory}': {what}");
        Error::new(Code::CLIENT_INVALID_EXTERNALS_DESCRIPTION, message)
    };
    let (first_is_url, second_is_url) = (Url::is_url(&first), Url::is_url(&second));
    if first_is_url && second_is_url {
        return Err(invalid(format!(
            "cannot use two absolute URLs ('{first}' and '{second}') in an external; one must be a path where an absolute or \
             relative URL is checked out to"
        )));
    }
    // The older form has the option behind the target, and a URL at the end.
    let is_old = match option {
        Some(at) => at == 1,
        None => second_is_url,
    };
    let target = if is_old { &first } else { &second };
    if Url::is_url(target) {
        return Err(invalid(format!(
            "cannot use a URL '{target}' as the target directory for an external definition"
        )));
    }
    let head = Revision::Head;
    let (url, peg) = match is_old {
        true => (second.clone(), rev.unwrap_or(head)),
        false => {
            let (url, peg) = split_peg(&first, parse_date)?;
            (url, peg.unwrap_or(head))
        }
    };
    Ok(External {
        target: relative_target(target)
            .map_err(|target| invalid(format!("target '{target}' is an absolute path or involves '..'")))?,
        url,
        peg,
        rev: rev.unwrap_or(peg),
    })
}

/// Returns the words of a line, as APR's `apr_tokenize_to_argv` does. Blanks separate words. A word that begins with a quote ends with
/// the next one of its kind, and another word may follow at once; quotes elsewhere are plain characters. A backslash goes away; the end of
/// a word it hides only if a blank or a quote follows.
pub(crate) fn words(line: &str) -> Vec<String> {
    const BLANKS: [char; 2] = [' ', '\t'];
    let mut words = Vec::new();
    let mut rest = line.trim_start_matches(BLANKS);
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let text = &rest[quote.map_or(0, char::len_utf8)..];
        let ends = |c: char| quote.map_or(BLANKS.contains(&c), |quote| c == quote);
        let mut chars = text.char_indices().peekable();
        let mut end = text.len();
        while let Some((at, c)) = chars.next() {
            let hides = |next: &(usize, char)| matches!(next.1, ' ' | '\t' | '"' | '\'');
            if c == '\\' && chars.next_if(hides).is_some() {
                continue;
            }
            if ends(c) {
                end = at;
                break;
            }
        }
        words.push(without_backslashes(&text[..end]));
        rest = text[end..].get(1..).unwrap_or_default();
        rest = rest.trim_start_matches(BLANKS);
    }
    words
}

fn without_backslashes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(chars.next()),
            c => plain.push(c),
        }
    }
    plain
}

/// Splits `URL@PEG`; an empty peg revision is none.
fn split_peg(text: &str, parse_date: ParseDate<'_>) -> Result<(String, Option<Revision>)> {
    let name_at = text.rfind('/').map_or(0, |slash| slash + 1);
    let Some(at) = text[name_at..].rfind('@').map(|at| at + name_at) else {
        return Ok((text.to_owned(), None));
    };
    let (url, peg) = (text[..at].to_owned(), &text[at + 1..]);
    if peg.is_empty() {
        return Ok((url, None));
    }
    match Revision::parse(peg, parse_date) {
        Some(peg) => Ok((url, Some(peg))),
        None => {
            let message = format!("Syntax error parsing peg revision '{peg}'");
            Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
        }
    }
}

/// Returns the path of a target: below the directory, and not the directory itself. Otherwise the error has its canonical form.
fn relative_target(text: &str) -> Result<RelPath, String> {
    let names = text.split('/').filter(|name| !matches!(*name, "" | "."));
    let joined = names.collect::<Vec<_>>().join("/");
    if text.starts_with('/') {
        return Err(format!("/{joined}"));
    }
    match RelPath::parse(&joined) {
        Ok(path) if !path.is_empty() && path.components().all(|name| name != "..") => Ok(path),
        _ => Err(joined),
    }
}

/// Returns the absolute URL of an external of the directory at `directory`, in the repository at `root`.
///
/// # Errors
/// `BAD_URL` for a relative URL of no known form, and for `..` in one that begins at the server or the scheme. In the other
/// forms, a `..` above the server's root stays there.
pub fn absolute_url(url: &str, directory: &Url, root: &Url) -> Result<Url> {
    if Url::is_url(url) {
        return Url::canonicalize(url);
    }
    if url.starts_with('/') && url.split('/').any(|name| name == "..") {
        let message = format!("The external relative URL '{url}' cannot have backpaths, i.e. '..'");
        return Err(Error::new(Code::BAD_URL, message));
    }
    let (start, rest) = if let Some(rest) = url.strip_prefix("//") {
        return Url::canonicalize(&format!("{}://{rest}", directory.scheme()));
    } else if let Some(rest) = url.strip_prefix("^/") {
        (root.path().to_owned(), rest)
    } else if let Some(rest) = url.strip_prefix('/') {
        (String::new(), rest)
    } else if url == ".." || url.starts_with("../") {
        (directory.path().to_owned(), url)
    } else {
        let message = format!("Unrecognized format for the relative external URL '{url}'");
        return Err(Error::new(Code::BAD_URL, message));
    };
    let mut names: Vec<&str> = start.split('/').filter(|name| !name.is_empty()).collect();
    for name in rest.split('/') {
        match name {
            "" | "." => {}
            ".." => _ = names.pop(),
            name => names.push(name),
        }
    }
    let text = format!(
        "{}://{}/{}",
        directory.scheme(),
        directory.authority(),
        names.join("/")
    );
    Url::canonicalize(&text)
}

#[cfg(test)]
mod tests {
    use base::{Date, Revnum};

    use super::*;

    fn no_dates(_: &str) -> Option<Date> {
        Some(Date(0))
    }

    fn one(line: &str) -> Result<(String, String, Revision, Revision)> {
        let mut all = parse("d", line.as_bytes(), &no_dates)?;
        assert_eq!(all.len(), 1, "{line}");
        let one = all.remove(0);
        Ok((one.target.as_str().to_owned(), one.url, one.peg, one.rev))
    }

    #[test]
    fn both_forms_with_revisions_quotes_and_escapes() {
        let head = Revision::Head;
        let number = |rev| Revision::Number(Revnum(rev));
        for (line, target, url, peg, rev) in [
            ("^/b ext", "ext", "^/b", head, head),
            ("-r2 ^/b ext", "ext", "^/b", head, number(2)),
            ("-r 2 ^/b@3 ext/", "ext", "^/b", number(3), number(2)),
            ("^/b@ ./ext//x", "ext/x", "^/b", head, head),
            ("^/b@r4 ext", "ext", "^/b", number(4), number(4)),
            ("ext http://h/b", "ext", "http://h/b", head, head),
            (
                "ext -r 2 http://h/b@7",
                "ext",
                "http://h/b@7",
                number(2),
                number(2),
            ),
            ("ext -r2 ^/b", "ext", "^/b", number(2), number(2)),
            ("http://h/b ext", "ext", "http://h/b", head, head),
            ("'^/b c' \"a b\"", "a b", "^/b c", head, head),
            ("^/b a\\ b", "a b", "^/b", head, head),
            ("\\a ^/b", "^/b", "a", head, head),
            ("-r{2001-01-01} ^/b x", "x", "^/b", head, Revision::Date(Date(0))),
        ] {
            let got = one(line).expect(line);
            assert_eq!(got, (target.to_owned(), url.to_owned(), peg, rev), "{line}");
        }
    }

    #[test]
    fn lines_that_are_not_externals() {
        for line in [
            "^/b",
            "ext",
            "-r ^/b ext",
            "-rx ^/b ext",
            "-rHEAD ^/b ext",
            "^/b a b",
            "ext -r2",
            "^/b .",
            "^/b ../x",
            "^/b /x",
            "^/b a/../b",
            "-r2",
            "\"",
            "-r",
            "^/b ''",
        ] {
            let error = one(line).expect_err(line);
            assert_eq!(error.code(), Code::CLIENT_INVALID_EXTERNALS_DESCRIPTION, "{line}");
        }
        let none = parse("d", b"# ^/b ext\n\n  \r\n", &no_dates).expect("no externals");
        assert_eq!(none, []);
    }

    #[test]
    fn relative_urls() {
        let directory = Url::canonicalize("http://host/svn/r/trunk/d").expect("a URL");
        let root = Url::canonicalize("http://host/svn/r").expect("a URL");
        for (url, expected) in [
            ("^/b", "http://host/svn/r/b"),
            ("^/../o/b", "http://host/svn/o/b"),
            ("../b", "http://host/svn/r/trunk/b"),
            ("../../b/../c", "http://host/svn/r/c"),
            ("../../../../../b", "http://host/b"),
            ("^/../../../b", "http://host/b"),
            ("/x/y", "http://host/x/y"),
            ("//other/x", "http://other/x"),
            ("svn://h/r/", "svn://h/r"),
        ] {
            let got = absolute_url(url, &directory, &root).expect(url);
            assert_eq!(got.as_str(), expected);
        }
        for url in ["b", "", "^b", "/x/../y", "//host/x/../y"] {
            let error = absolute_url(url, &directory, &root).expect_err(url);
            assert_eq!(error.code(), Code::BAD_URL, "{url}");
        }
    }
}
