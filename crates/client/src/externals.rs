//! The property `svn:externals`: nodes of other URLs that belong into a directory.
//!
//! Each line is one external, in one of two forms: `[-rREV] URL[@PEG] TARGET`, and the older `TARGET [-rREV] URL` with an
//! absolute URL. Words may be quoted, and characters escaped with a backslash. URLs may be relative: `../` to the directory's URL, `^/` to
//! the repository's root, `//` to the scheme, `/` to the server.

use base::{Code, Date, Error, RelPath, Result, Revnum, Url};

use crate::locate::Revision;

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

/// Parses a date between braces; `None` if it is not a date.
pub type ParseDate<'a> = &'a (dyn Fn(&str) -> Option<Date> + Sync);

/// Parses the property of the directory that is called `directory` in messages.
///
/// # Errors
/// `CLIENT_INVALID_EXTERNALS_DESCRIPTION` for a line that is not an external.
pub fn parse(directory: &str, value: &[u8], parse_date: ParseDate<'_>) -> Result<Vec<External>> {
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
        rev = Some(revision(&text, parse_date).ok_or_else(broken)?);
    }
    let [first, second] = <[String; 2]>::try_from(words).map_err(|_| broken())?;
    // The older form has the option behind the target, and a URL at the end.
    let is_old = match option {
        Some(at) => at == 1,
        None => !Url::is_url(&first) && Url::is_url(&second),
    };
    let (target, url, peg) = if is_old {
        (first, second, None)
    } else {
        let (url, peg) = split_peg(&first, parse_date)?;
        (second, url, peg)
    };
    let peg = peg.unwrap_or(if is_old {
        rev.unwrap_or(Revision::Head)
    } else {
        Revision::Head
    });
    Ok(External {
        target: checked_target(directory, &target)?,
        url,
        peg,
        rev: rev.unwrap_or(peg),
    })
}

/// Returns the words of a line: separated by blanks, with quotes and backslashes as in a shell.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        if chars.peek().is_none() {
            return words;
        }
        let (mut word, mut quote) = (String::new(), None);
        while let Some(c) = chars.next_if(|c| quote.is_some() || !matches!(c, ' ' | '\t')) {
            match c {
                '"' | '\'' if quote == Some(c) => quote = None,
                '"' | '\'' if quote.is_none() => quote = Some(c),
                '\\' => word.extend(chars.next()),
                _ => word.push(c),
            }
        }
        words.push(word);
    }
}

/// Returns the revision of a number or of a date between braces.
fn revision(text: &str, parse_date: ParseDate<'_>) -> Option<Revision> {
    if let Some(date) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return parse_date(date).map(Revision::Date);
    }
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u32>().ok().filter(|_| is_number)?;
    Some(Revision::Number(Revnum(number.into())))
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
    let number = peg.strip_prefix('r').unwrap_or(peg);
    let found = if peg.eq_ignore_ascii_case("head") {
        Some(Revision::Head)
    } else {
        revision(number, parse_date)
    };
    match found {
        Some(peg) => Ok((url, Some(peg))),
        None => {
            let message = format!("Syntax error parsing peg revision '{peg}'");
            Err(Error::new(Code::CL_ARG_PARSING_ERROR, message))
        }
    }
}

/// Returns the path of a target: below the directory, and not the directory itself.
fn checked_target(directory: &str, text: &str) -> Result<RelPath> {
    let has_dots = text.split('/').any(|name| name == "..");
    let path = match text.starts_with('/') || has_dots {
        true => None,
        false => {
            let names: Vec<&str> = text
                .split('/')
                .filter(|name| !matches!(*name, "" | "."))
                .collect();
            RelPath::parse(&names.join("/"))
                .ok()
                .filter(|path| !path.is_empty())
        }
    };
    path.ok_or_else(|| {
        let shown = text.trim_end_matches('/');
        let shown = if shown == "." { "" } else { shown };
        let message = format!(
            "Invalid svn:externals property on '{directory}': target '{shown}' is an absolute path or involves '..'"
        );
        Error::new(Code::CLIENT_INVALID_EXTERNALS_DESCRIPTION, message)
    })
}

/// Returns the absolute URL of an external of the directory at `directory`, in the repository at `root`.
///
/// # Errors
/// `BAD_URL` for a relative URL of no known form, and for one that leaves the server.
pub fn absolute_url(url: &str, directory: &Url, root: &Url) -> Result<Url> {
    if Url::is_url(url) {
        return Url::canonicalize(url);
    }
    let bad = |what: &str| Error::new(Code::BAD_URL, format!("{what} '{url}'"));
    let (start, rest) = if let Some(rest) = url.strip_prefix("//") {
        return Url::canonicalize(&format!("{}://{rest}", directory.scheme()));
    } else if let Some(rest) = url.strip_prefix("^/") {
        (root.path().to_owned(), rest)
    } else if let Some(rest) = url.strip_prefix('/') {
        (String::new(), rest)
    } else if url == ".." || url.starts_with("../") {
        (directory.path().to_owned(), url)
    } else {
        return Err(bad("Unrecognized format for the relative external URL"));
    };
    let mut names: Vec<&str> = start.split('/').filter(|name| !name.is_empty()).collect();
    for name in rest.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                let left = names.pop();
                left.ok_or_else(|| bad("The external relative URL"))?;
            }
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
            ("/x/y", "http://host/x/y"),
            ("//other/x", "http://other/x"),
            ("svn://h/r/", "svn://h/r"),
        ] {
            let got = absolute_url(url, &directory, &root).expect(url);
            assert_eq!(got.as_str(), expected);
        }
        for url in ["b", "", "../../../../../b", "^b"] {
            let error = absolute_url(url, &directory, &root).expect_err(url);
            assert_eq!(error.code(), Code::BAD_URL, "{url}");
        }
    }
}
