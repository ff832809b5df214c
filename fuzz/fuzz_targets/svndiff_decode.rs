//! A window in memory: applying it and decoding it must agree, and re-framing must keep its effect.
//! The first byte is the version, the rest the window; the source is zeros and a counter.

#![no_main]

use delta::svndiff::{Codec, EncodedWindow, Parsed};
use delta::window::WINDOW_SIZE;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((version, bytes)) = data.split_first() else {
        return;
    };
    let version = version % 3;
    let source: Vec<u8> = (0..WINDOW_SIZE).map(|at| (at / 3) as u8).collect();
    let mut codec = Codec::new();
    let window = match EncodedWindow::parse(version, bytes) {
        Ok(Parsed::Complete(window)) => window,
        Ok(Parsed::Incomplete { need }) => return assert!(need > bytes.len()),
        Err(_) => return,
    };
    let mut target = b"x".to_vec();
    let applied = window.apply(&source, &mut target, &mut codec);
    let decoded = window.decode(&mut codec);
    assert_eq!(applied.is_ok(), decoded.is_ok());
    let Ok(decoded) = decoded else {
        return assert_eq!(target, b"x");
    };
    assert_eq!(decoded.validate(), Ok(()));
    assert_eq!(window.has_source_ops(&mut codec), Ok(decoded.has_source_ops()));
    let mut again = b"x".to_vec();
    decoded.apply(&source, &mut again).expect("because it is valid");
    assert_eq!(again, target);
    for to in 0..3 {
        let mut bytes = Vec::new();
        window
            .write_as(to, 5, &mut codec, &mut bytes)
            .expect("because its sections could be read");
        match EncodedWindow::parse(to, &bytes) {
            Ok(Parsed::Complete(window)) => assert_eq!(window.decode(&mut codec).as_ref(), Ok(&decoded)),
            other => panic!("{other:?}"),
        }
    }
});
