//! Parsers and encoders of everything that FSFS stores, without any I/O.
//!
//! | module | subject | formats |
//! |---|---|---|
//! | [`fs_format`] | the file `format`; what each format has | all |
//! | [`back_end`] | the forms that both back ends have | all |
//! | [`short_line`] | files of one line: `uuid`, `fs-type`, `current`, `min-unpacked-rev` | all |
//! | [`id`] | node-revision IDs and transaction names | all |
//! | [`noderev`], [`rep_line`] | node-revisions | all |
//! | [`rep_header`] | the first line of a representation | all |
//! | [`dir`] | directories | all |
//! | [`changes`], [`fold`], [`change_list`] | changed-path lists: as stored, folded, in memory | all |
//! | [`rev_trailer`] | the last line of a revision, physical addressing | all |
//! | [`manifest`] | the manifest of a packed shard, physical addressing | 4 and later |
//! | [`footer`], [`l2p`], [`p2l`] | the indexes of a revision or pack file, logical addressing | 7 and later |
//! | [`proto_index`] | the indexes of a transaction, logical addressing | 7 and later |
//! | [`revprops_pack`] | packed revision properties | 6 and later |
//! | [`lock_digest`] | user locks | all |
//! | [`fsx`] | the other back end, FSX format 2 | – |
//! | [`history_index`] | the history index, which is of this project | all |
//!
//! A parser takes a slice. It returns a value, with the number of bytes that it took if the value is part of a larger
//! file; `Ok(None)` if it needs more bytes; or an error of a small enum. Encoders append to a `Vec<u8>` and write
//! what Subversion 1.14 writes. Parsers accept every variant that any Subversion has written, in any format, because
//! upgraded repositories mix them.
//!
//! What is absent: files, caches, and the paths and offsets of these values (`layout`, `rev_file`).

pub(crate) mod back_end;
pub(crate) mod change_list;
pub(crate) mod changes;
pub(crate) mod dir;
pub(crate) mod fold;
pub(crate) mod footer;
pub(crate) mod fs_format;
#[cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "some encoders are for tests and fuzz targets until something packs"
    )
)]
pub(crate) mod fsx;
#[cfg(feature = "fuzzing")]
pub mod fuzz_api;
pub(crate) mod history_index;
pub(crate) mod id;
pub(crate) mod l2p;
pub(crate) mod lock_digest;
pub(crate) mod manifest;
pub(crate) mod noderev;
pub(crate) mod p2l;
pub(crate) mod proto_index;
pub(crate) mod rep_header;
pub(crate) mod rep_line;
pub(crate) mod rev_trailer;
pub(crate) mod revprops_pack;
pub(crate) mod short_line;

/// Quotes bytes in a message as the incumbent does: those that are not UTF-8 in an escaped form.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("?\\{byte:02X}"));
        }
    }
    text
}

/// The error of an index that does not begin with `prefix`: `e` with the expected and the found bytes.
pub fn prefix_mismatch(e: &base::Error, prefix: &[u8], bytes: &[u8]) -> base::Error {
    let found = &bytes[..bytes.len().min(prefix.len())];
    let found = found.split(|&byte| byte == 0).next().unwrap_or(found);
    let message = format!(
        "{}\n  expected: {}  found: {}",
        e.message(),
        quoted(prefix),
        quoted(found)
    );
    base::Error::new(e.code(), message)
}

/// Declares the error enum of a parser: each variant with its Subversion error code and text.
macro_rules! decode_error {
    ($(#[$doc:meta])* $name:ident { $($variant:ident => $code:ident, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = $text] $variant,)*
        }

        impl $name {
            /// The error code of this failure.
            pub fn code(self) -> base::Code {
                match self {
                    $($name::$variant => base::Code::$code,)*
                }
            }

            /// The message, one line.
            pub fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }

        impl From<$name> for base::Error {
            fn from(e: $name) -> base::Error {
                base::Error::new(e.code(), e.text())
            }
        }
    };
}
pub(crate) use decode_error;
