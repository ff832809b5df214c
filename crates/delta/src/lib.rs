//! Differences: between two texts (svndiff windows) and between two trees (the Editor).
//!
//! Text side: [`window`] holds decoded instructions and applies them, [`svndiff`] is the stored and transmitted
//! form, [`xdelta`] makes a window out of two pieces of text, [`text_delta`] windows out of two streams,
//! [`compose`] one window out of two. Tree side: [`editor`], with [`RecordingEditor`] and [`NullEditor`] for
//! tests and measurements.
//!
//! What is absent: I/O, files, repositories. Everything works on slices and on windows of at most
//! [`window::WINDOW_SIZE`] bytes, so no buffer grows with a file.
//!
//! ```
//! use delta::svndiff::{Codec, EncodedWindow, Parsed, write_window};
//! use delta::xdelta::Matcher;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let old = b"a text that is long enough for a block of sixty-four bytes to match it again".as_slice();
//! let new = [old, b" and more"].concat();
//!
//! let window = Matcher::new().window(0, old, &new);
//! let (mut codec, mut bytes) = (Codec::new(), Vec::new());
//! write_window(&window, 1, 5, &mut codec, &mut bytes);
//! assert!(bytes.len() < new.len());
//!
//! let Parsed::Complete(encoded) = EncodedWindow::parse(1, &bytes).expect("a window") else {
//!     panic!("the whole window is there");
//! };
//! let mut target = Vec::new();
//! encoded.decode(&mut codec).expect("valid").apply(old, &mut target).expect("valid");
//! assert_eq!(target, new);
//! # Ok(())
//! # }
//! ```

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
