//! Bytes and typed messages of the network protocols, for both peers.
//!
//! [`svn`] is the `svn://` protocol, [`dav`] what Subversion makes of WebDAV. Decoders take `&[u8]` and answer a value,
//! *more bytes needed*, or an error; encoders append to a buffer.
//!
//! What is absent: sockets, threads, repositories, clocks. The server or client supplies those.

pub mod dav;
pub mod svn;
pub mod text;
