//! The real clients over HTTP: against Apache with mod_dav_svn and against ours, on repositories that begin alike.

mod ask;
mod counts;
mod plain;
mod proxy;
mod read;
mod report;
mod turns;
mod web;
mod write;
