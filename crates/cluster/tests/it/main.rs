//! Integration tests of clusters, against a real PostgreSQL and a real S3 server.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "tests print their seeds")]
#![expect(clippy::too_many_lines, reason = "a test reads best as one piece")]

mod blobs;
mod garbage;
mod heads;
mod histories;
mod import_conflicts;
mod linear;
mod packing;
mod restored;
mod schema;
mod scrubbing;
mod store_identity;
mod support;
mod transfer;
