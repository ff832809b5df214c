//! What our tools say, beside what the incumbent's say, word for word.

mod svnauthz;
