//! Differences: between two texts (svndiff windows) and between two trees (the Editor).
//!
//! Text side: [`window`] holds decoded instructions and applies them, [`svndiff`] is the stored and transmitted
//! form, the block matcher makes windows out of two texts. Tree side: [`editor`].
//!
//! What is absent: I/O, files, repositories. Everything works on slices and on windows of at most
//! [`window::WINDOW_SIZE`] bytes, so no buffer grows with a file.

mod apply;
pub mod editor;
pub mod svndiff;
pub mod window;
