//! Commits, compared with those of the real server: the same drives over its protocol and through our editor, on
//! copies of one repository.

mod drive;
mod hooked;
pub mod pair;
mod rules;
