//! Tests over HTTP: Subversion's clients and raw requests with Apache's mod_dav_svn and with Sven, on equal
//! repositories.

pub mod ask;
mod believe;
mod counts;
mod edits;
mod fresh;
mod gone;
mod hashes;
mod interleaved;
mod live;
mod login;
mod long;
mod mounted;
mod moved;
mod odd_paths;
mod operations;
mod plain;
mod proxy;
mod random;
mod read;
mod report;
mod rules;
mod sequences;
mod served;
mod transports;
mod turns;
mod web;
mod write;
mod writers;
