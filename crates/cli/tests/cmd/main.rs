//! What our tools say, beside what the incumbent's say, word for word.

mod arguments;
mod pair;
mod svnadmin;
mod svnauthz;
mod svnlook;
