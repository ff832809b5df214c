//! Bytes and typed messages of the network protocols, for both peers.
//!
//! [`svn`] is the `svn://` protocol. Decoders take `&[u8]` and answer a value, *more bytes needed*, or an error;
//! encoders append to a `Vec<u8>`.
//!
//! What is absent: sockets, threads, repositories, clocks. A server or a client brings those and calls this.

pub mod svn;
