//! Decoders and encoders of everything that FSX stores, without any I/O.
//!
//! | module | subject | section of the description |
//! |---|---|---|
//! | [`cursor`] | the unread rest of some bytes; the two integers of variable length | notation |
//! | [`small_files`] | `format`, `uuid`, `current` and other files of one line | 2, 19 |
//! | [`id`] | identifiers | 4 |
//! | [`path_text`] | paths in text | 5 |
//! | [`prop_list`], [`dir`] | property lists, directories | 6, 19 |
//! | [`rep_line`] | the place and the digests of a content | 7 |
//! | [`noderev`], [`changes`] | node-revisions and changed paths as text | 8, 9 |
//! | [`l2p`], [`p2l`] | the indexes of a revision or pack file | 11, 12 |
//! | [`packed_data`], [`string_table`] | the parts of containers | 13, 14 |
//! | [`packed_writer`], [`string_table_writer`] | making them | 13, 14 |
//! | [`noderev_container`], [`changes_container`], [`rep_container`] | the containers of a pack file | 15 to 17 |
//! | [`rep_container_writer`] | making a container of representations | 17 |
//! | [`revprops_pack`] | packed revision properties | 18 |
//! | [`proto_index`] | the indexes of a transaction | 19 |
//!
//! The footer of a file and the header of a representation have the forms that FSFS has: [`Footer`](super::footer::Footer),
//! [`RepHeader`](super::rep_header::RepHeader).
//!
//! A decoder takes a slice and returns a value or a [`DecodeError`](cursor::DecodeError), which has the error number, what
//! is wrong, and the place. A length is compared with the bytes that are there before anything is allocated for it, and
//! nothing is recursive.
//!
//! What is absent: files, and the decoding of svndiff (crate `delta`).

pub(crate) mod changes;
pub(crate) mod changes_container;
pub(crate) mod cursor;
pub(crate) mod dir;
#[cfg(feature = "fuzzing")]
pub mod fuzz_api;
pub(crate) mod id;
pub(crate) mod l2p;
pub(crate) mod noderev;
pub(crate) mod noderev_container;
pub(crate) mod p2l;
pub(crate) mod packed_data;
pub(crate) mod packed_writer;
pub(crate) mod path_text;
pub(crate) mod prop_list;
pub(crate) mod proto_index;
pub(crate) mod rep_container;
pub(crate) mod rep_container_writer;
pub(crate) mod rep_line;
pub(crate) mod revprops_pack;
pub(crate) mod small_files;
pub(crate) mod string_table;
pub(crate) mod string_table_writer;
