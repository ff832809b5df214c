//! For administrators: checking the files of a repository.

mod verify;
