//! Properties of a stream: their form, and mergeinfo, whose revisions and paths are mapped.

use base::dumpfile::Renumbering;
use base::mergeinfo::Source;
use base::{Code, Error, FsPath, Mergeinfo, Props, RelPath, Result, Revnum, props, with_line_feeds};
use ra::{DirectoryRequest, FileRequest, Session};

use super::normalize::normalize;

/// Returns the value of a property as repositories accept it.
///
/// # Errors
/// `BAD_PROPERTY_VALUE` for a value of a `svn:` property that is not UTF-8.
pub fn checked(name: &str, value: Vec<u8>) -> Result<Vec<u8>> {
    check_encoding(name, &value)?;
    Ok(normalize(name, &value).into_owned())
}

fn check_encoding(name: &str, value: &[u8]) -> Result<()> {
    if name.starts_with("svn:") && std::str::from_utf8(value).is_err() {
        return Err(Error::new(
            Code::BAD_PROPERTY_VALUE,
            format!("Cannot accept '{name}' property because it is not encoded in UTF-8"),
        ));
    }
    Ok(())
}

/// Returns the value of a node's property as it is set in the repository; the stream is loaded below `parent`.
///
/// # Errors
/// As above; `IO_INCONSISTENT_EOL` and `MERGEINFO_PARSE_ERROR`.
pub fn of_stream(name: &str, value: Vec<u8>, parent: &RelPath, numbers: &Renumbering) -> Result<Vec<u8>> {
    if name != props::MERGEINFO {
        return checked(name, value);
    }
    check_encoding(name, &value)?;
    let parsed = with_line_feeds(&value).and_then(|value| Mergeinfo::parse(&value));
    let parsed = parsed.map_err(|error| error.context("Invalid svn:mergeinfo value"))?;
    let mut translated = Mergeinfo::new();
    for (source, ranges) in parsed.iter() {
        let ranges = numbers.ranges(ranges);
        if !ranges.is_empty() {
            translated.add(below(source, parent), &ranges);
        }
    }
    Ok(translated.to_string().into_bytes())
}

/// Returns a source of merges below the directory into which the stream is loaded.
fn below(source: &Source, parent: &RelPath) -> Source {
    match parent.is_empty() {
        true => source.clone(),
        false => {
            let path = source.as_str().trim_start_matches('/');
            Source::new(FsPath::root().join(parent).join_str(path).as_str())
        }
    }
}

/// Reads the properties of a node that a repository stores.
///
/// # Errors
/// Those of the session.
pub fn of_node(session: &mut dyn Session, path: &RelPath, rev: Revnum, is_dir: bool) -> Result<Props> {
    let props = match is_dir {
        true => {
            session
                .directory(&DirectoryRequest {
                    path,
                    rev: Some(rev),
                    props: true,
                    entries: None,
                })?
                .props
        }
        false => {
            let request = FileRequest {
                path,
                rev: Some(rev),
                props: true,
                text: false,
            };
            session.file(&request, &mut |_, _| Ok(()))?.props
        }
    };
    Ok(props
        .into_iter()
        .filter(|(name, _)| props::is_regular(name))
        .collect())
}
