//! Two texts from the input: windows between them must reproduce the target, encoded in every version.
//! The first byte is the number of repetitions (for long texts from short inputs), the second the end of the first
//! text.

#![no_main]

use delta::svndiff::{self, Codec, Decoder};
use delta::text_delta::{SourceView, TextDelta, slice_reader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [repeat, split, rest @ ..] = data else {
        return;
    };
    let (source, target) = rest.split_at(rest.len() * usize::from(*split) / 256);
    let times = usize::from(*repeat % 32) * usize::from(*repeat / 32 + 1);
    let source = [source.repeat(times + 1), target.to_vec()].concat();
    let target = [target, &source[source.len() / 3..], target].concat();
    let version = repeat % 3;
    let mut codec = Codec::new();
    let mut document = Vec::new();
    svndiff::write_header(version, &mut document);
    let mut delta = TextDelta::new(slice_reader(&source), slice_reader(&target));
    while let Some(window) = delta.next_window().expect("because slices can be read") {
        assert_eq!(window.validate(), Ok(()));
        svndiff::write_window(window, version, 5, &mut codec, &mut document);
    }
    let mut made = Vec::new();
    let mut views = SourceView::new(slice_reader(&source));
    let mut decoder = Decoder::new();
    decoder
        .push(&document, |window| {
            let view = views.view(window.source_offset, window.source_len)?;
            Ok(window.apply(view, &mut made, &mut codec)?)
        })
        .expect("because it was just written");
    decoder.finish().expect("because it was just written");
    assert!(made == target);
});
