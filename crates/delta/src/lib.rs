//! Differences: between two texts (svndiff windows) and between two trees (the Editor).
//!
//! Text side: [`window`] holds decoded instructions and applies them, [`svndiff`] is the stored and transmitted
//! form, [`xdelta`] makes a window out of two pieces of text, [`text_delta`] windows out of two streams,
//! [`compose`] one window out of two. Tree side: [`editor`], with [`RecordingEditor`] and [`NullEditor`] for
//! tests and measurements.
//!
//! What is absent: I/O, files, repositories. Everything works on slices and on windows of at most
//! [`window::WINDOW_SIZE`] bytes, so no buffer grows with a file.

mod apply;
pub mod compose;
pub mod editor;
mod null_editor;
mod record;
pub mod svndiff;
mod svndiff_error;
pub mod text_delta;
pub mod window;
pub mod xdelta;

pub use null_editor::NullEditor;
pub use record::RecordingEditor;
