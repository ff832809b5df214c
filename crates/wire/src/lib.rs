//! Bytes and typed messages of the network protocols, for both peers.
//!
//! [`svn`] is the `svn://` protocol, [`dav`] what Subversion makes of WebDAV, [`sasl`] how users prove who they are by Cyrus SASL's mechanisms. Decoders take `&[u8]` and answer a value,
//! *more bytes needed*, or an error; encoders append to a buffer.
//!
//! What is absent: sockets, threads, repositories, clocks. The server or client supplies those.
//!
//! ```
//! use wire::svn::{Item, Scanner, Writer};
//!
//! # fn main() -> Result<(), wire::svn::Malformed> {
//! let mut bytes = Vec::new();
//! Writer(&mut bytes).open().word("success").open().number(7).string("trunk").close().close();
//! assert_eq!(bytes, b"( success ( 7 5:trunk ) ) ");
//!
//! // Bytes arrive in pieces: the scanner finds where an item ends.
//! assert_eq!(Scanner::default().scan(&bytes[..10])?, None);
//! let length = Scanner::default().scan(&bytes)?.expect("the whole item is there");
//!
//! let mut response = Item::parse(&bytes[..length])?.list()?;
//! assert_eq!(response.word()?, "success");
//! let mut parameters = response.list()?;
//! assert_eq!((parameters.number()?, parameters.string()?), (7, b"trunk".as_slice()));
//! # Ok(())
//! # }
//! ```

pub mod dav;
pub mod sasl;
pub mod svn;
pub mod text;
