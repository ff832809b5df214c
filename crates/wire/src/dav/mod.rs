//! The WebDAV/DeltaV dialect that Subversion speaks over HTTP.
//!
//! Everything here is bytes to values and back: [`xml`] reads request bodies and escapes answers, [`uri`] takes the
//! paths of requests apart and builds those of responses. A valid request becomes a typed value; responses are
//! appended to a buffer in exactly the form that clients expect. [`client`] is the other side: bodies of requests, and readers
//! of responses.
//!
//! What is absent: sockets, HTTP's own framing, repositories, users.
//!
//! Source of the grammar: RFC 4918 (WebDAV), RFC 3253 (DeltaV), and recordings of Subversion 1.14's clients and of Apache.

pub mod accept;
pub mod checkout;
pub mod client;
pub mod conditions;
pub mod fault;
pub mod http_date;
pub mod if_header;
pub mod index;
pub mod live;
pub mod lock;
pub mod lock_tokens;
pub mod merge;
pub mod multistatus;
pub mod names;
pub mod post;
pub mod propfind;
pub mod proppatch;
pub mod query;
pub mod range;
pub mod report;
pub mod stream;
pub mod uri;
pub mod xml;
pub mod xml_encoding;
