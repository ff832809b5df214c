//! The XML of an error: one number and one message.

use std::fmt::Write as _;

use base::Code;

use super::xml;

/// The content type of every XML response except `MERGE`'s.
pub const XML_TYPE: &str = "text/xml; charset=\"utf-8\"";

/// Appends the error document for `code` and its message.
pub fn write_error(code: Code, message: &str, out: &mut String) {
    _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <D:error xmlns:D=\"DAV:\" xmlns:m=\"http://apache.org/dav/xmlns\" xmlns:C=\"svn:\">\n\
         <C:error/>\n\
         <m:human-readable errcode=\"{}\">\n",
        code.0
    );
    xml::escape_text(message, out);
    out.push_str("\n</m:human-readable>\n</D:error>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_number_and_an_escaped_text() {
        let mut out = String::new();
        write_error(Code::FS_NOT_FOUND, "'<a>' & 'b'", &mut out);
        assert!(
            out.contains("errcode=\"160013\">\n'&lt;a&gt;' &amp; 'b'\n<"),
            "{out}"
        );
    }
}
