//! A document in pieces: however it is split, the same windows and the same outcome. The first byte chooses how it is
//! split.

#![no_main]

use base::Code;
use delta::svndiff::{Codec, Decoder};
use delta::window::Window;
use libfuzzer_sys::fuzz_target;

fn read(pieces: &mut dyn Iterator<Item = &[u8]>) -> (Vec<Window>, Result<(), Code>) {
    let mut codec = Codec::new();
    let mut windows = Vec::new();
    let mut decoder = Decoder::new();
    let push = || {
        for piece in pieces {
            decoder.push(piece, |window| {
                windows.push(window.decode(&mut codec)?);
                Ok(())
            })?;
        }
        Ok(())
    };
    let outcome: base::Result<()> = push();
    let outcome = outcome.and_then(|()| decoder.finish());
    (windows, outcome.map_err(|error| error.code()))
}

fuzz_target!(|data: &[u8]| {
    let Some((cut, document)) = data.split_first() else {
        return;
    };
    let whole = read(&mut std::iter::once(document));
    assert_eq!(read(&mut document.chunks(usize::from(*cut % 40) + 1)), whole);
});
