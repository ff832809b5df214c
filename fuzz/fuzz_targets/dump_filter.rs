//! The filter of dump streams: at once and byte by byte it gives the same output, events and error; its output is a stream
//! that it accepts again; and nothing is left out if all paths are included.

#![no_main]

use std::io::{BufRead, BufReader};

use base::Cancel;
use libfuzzer_sys::fuzz_target;
use repos::dump::{Filter, FilterRule};
use repos::dumpfile::DumpReader;
use repos::filter_stream::{self, DropRevisions, FilterObserver, FilterOptions, FilterSummary};

/// Collects the events.
#[derive(Debug, Default, PartialEq)]
struct Events(Vec<(i64, Option<i64>)>, usize);

impl FilterObserver for Events {
    fn committed(&mut self, original: i64, actual: i64) {
        self.0.push((original, Some(actual)));
    }

    fn skipped(&mut self, original: i64) {
        self.0.push((original, None));
    }

    fn dropped_node(&mut self, path: &[u8]) {
        assert!(path.starts_with(b"/"));
        self.1 += 1;
    }
}

/// Returns the options that a byte stands for.
fn options(choice: u8) -> FilterOptions {
    let patterns: &[&str] = match choice >> 5 & 3 {
        0 => &["/trunk"],
        1 => &["/A/D", "/b"],
        2 => &["/*a*"],
        _ => &["/trunk/f", "/a", "//x/"],
    };
    FilterOptions {
        nodes: Filter {
            rule: if choice & 1 == 0 {
                FilterRule::Exclude
            } else {
                FilterRule::Include
            },
            patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
            glob: choice >> 5 & 3 == 2,
        },
        drop_revisions: match choice >> 1 & 3 {
            0 => DropRevisions::None,
            1 => DropRevisions::Emptied,
            _ => DropRevisions::Empty,
        },
        renumber: choice & 8 != 0,
        skip_missing_merge_sources: choice & 16 != 0,
        preserve_revprops: choice & 128 != 0,
    }
}

fn filter(input: impl BufRead, options: &FilterOptions) -> (base::Result<FilterSummary>, Vec<u8>, Events) {
    let (mut output, mut events) = (Vec::new(), Events::default());
    let outcome = DumpReader::open(input)
        .and_then(|reader| filter_stream::run(reader, &mut output, options, &mut events, &Cancel::new()));
    (outcome, output, events)
}

fuzz_target!(|data: &[u8]| {
    // A longer stream could reach the limits of the headers only when it is filtered again.
    let Some((choice, stream)) = data.split_first().filter(|_| data.len() < 4096) else {
        return;
    };
    let options = options(*choice);
    let whole = filter(stream, &options);
    let byte_by_byte = filter(BufReader::with_capacity(1, stream), &options);
    assert_eq!(whole, byte_by_byte);
    let (Ok(_), output, events) = whole else {
        return;
    };
    let everything = FilterOptions {
        nodes: Filter {
            rule: FilterRule::Include,
            patterns: vec!["/".to_owned()],
            glob: false,
        },
        drop_revisions: DropRevisions::None,
        ..options
    };
    let (outcome, _, again) = filter(&output[..], &everything);
    outcome.expect("because the filter wrote the stream");
    let written: Vec<_> = events.0.iter().filter_map(|(_, actual)| *actual).collect();
    let read: Vec<_> = again.0.iter().map(|(original, _)| *original).collect();
    assert_eq!((written, 0), (read, again.1));
});
