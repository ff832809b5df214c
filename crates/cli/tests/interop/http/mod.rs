//! Tests over HTTP: Subversion's clients and raw requests with Apache's mod_dav_svn and with Sven, on equal
//! repositories.

mod alternating_servers;
mod base_revisions;
mod changed_files;
mod clocks;
mod copies;
mod counts;
mod disconnects;
mod edits;
mod hashes;
mod if_header;
mod interleaved;
mod keep_alive;
mod killed_servers;
mod live_props;
mod login;
mod long_requests;
mod mounted;
mod odd_paths;
mod operations;
mod proxy;
mod random;
pub mod raw_http;
mod read;
mod redirects;
mod released_locks;
mod report;
mod rules;
mod sequences;
mod served;
mod transports;
mod unread;
mod web;
mod webdav_clients;
mod write;
mod writers;
