//! Bytes to values and back: everything that FSFS stores, without any I/O.
//!
//! One module a thing. A decoder takes a slice and answers a value (with the number of bytes it took where the thing
//! is found inside a larger file), *need more* (`Ok(None)`) where the caller reads pieces, or an error of a small
//! enum. Encoders append to a `Vec<u8>` and write what Subversion 1.14 writes; decoders accept every variant that any
//! Subversion has written, in any format, because upgraded repositories mix them.
//!
//! What is absent: files, caches, and the decision which of these things is where (`layout`, `rev_file`).

pub(crate) mod change_list;
pub(crate) mod changes;
pub(crate) mod dir;
pub(crate) mod fold;
pub(crate) mod footer;
pub(crate) mod fs_format;
pub mod fuzz_api;
pub(crate) mod id;
pub(crate) mod l2p;
pub(crate) mod lock_digest;
pub(crate) mod manifest;
pub(crate) mod noderev;
pub(crate) mod number;
pub(crate) mod p2l;
pub(crate) mod proto_index;
pub(crate) mod rep_header;
pub(crate) mod rep_line;
pub(crate) mod rev_trailer;
pub(crate) mod revprops_pack;
pub(crate) mod short_line;

/// Bytes as messages quote them: what is not UTF-8 is shown as the incumbent shows it.
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

/// The error of an index that begins with other bytes than `prefix`: `e` with both.
pub(crate) fn prefix_mismatch(e: &base::Error, prefix: &[u8], bytes: &[u8]) -> base::Error {
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

/// Declares a decoder's error enum: each variant with its Subversion number and text.
macro_rules! decode_error {
    ($(#[$doc:meta])* $name:ident { $($variant:ident => $code:ident, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            $(#[doc = $text] $variant,)*
        }

        impl $name {
            /// The Subversion number of this failure.
            pub(crate) fn code(self) -> base::Code {
                match self {
                    $($name::$variant => base::Code::$code,)*
                }
            }

            /// What went wrong, in one line.
            pub(crate) fn text(self) -> &'static str {
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
