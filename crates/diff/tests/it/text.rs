//! Differences of texts, compared byte for byte with those of `svnlook diff`.

use diff::{DiffOptions, Labels, unified};
use testkit::history::Random;

use crate::oracle::{Oracle, Pair, edited};

/// Compares all pairs and reports the smallest one whose differences are not the same.
fn check(oracle: &Oracle, options: &str) {
    let pairs = &oracle.pairs;
    let theirs = oracle.hunks(options);
    let parsed = DiffOptions::parse(options.split_whitespace()).expect("good options");
    let labels = Labels { old: b"", new: b"" };
    let mut wrong: Vec<(usize, String)> = Vec::new();
    for ((old, new), theirs) in pairs.iter().zip(&theirs) {
        let ours = unified(old, new, labels, &parsed);
        let ours = ours.strip_prefix(b"--- \n+++ \n").unwrap_or(&ours);
        if ours != theirs {
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\r', "<CR>");
            let text = format!(
                "{:?}\n{:?}\ntheirs:\n{}\nours:\n{}",
                show(old),
                show(new),
                show(theirs),
                show(ours)
            );
            wrong.push((old.len() + new.len(), text));
        }
    }
    wrong.sort();
    assert!(
        wrong.is_empty(),
        "{} of {} differ; the smallest:\n{}",
        wrong.len(),
        pairs.len(),
        wrong[0].1
    );
}

fn text(random: &mut Random, words: &[usize], line: &dyn Fn(usize) -> String) -> Vec<u8> {
    let mut text: String = words.iter().map(|word| line(*word)).collect();
    if random.below(8) == 0 {
        text.pop();
    }
    text.into_bytes()
}

fn pairs(seed: u64, count: usize, longest: usize, line: &dyn Fn(usize) -> String) -> Vec<Pair> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| {
            let alphabet = [1, 2, 3, 5, 10, 40, 1000][random.below(7)];
            let length = random.below(longest + 1);
            let (old, new) = edited(&mut random, alphabet, length);
            (text(&mut random, &old, line), text(&mut random, &new, line))
        })
        .collect()
}

fn plain(word: usize) -> String {
    format!("l{word}\n")
}

#[test]
fn random_edits_differ_alike() {
    check(&Oracle::new(pairs(1, 1000, 40, &plain)), "");
    check(&Oracle::new(pairs(2, 200, 400, &plain)), "");
}

/// Pairs in which most lines occur in only one of the two texts: short ones, and one of 20,000 lines each.
#[test]
fn dissimilar_texts_differ_alike() {
    let mut random = Random::new(6);
    let mut all = Vec::new();
    for at in 0..300 {
        let length = if at < 298 { 60 } else { 20_000 };
        let (shared, rate) = ([1, 3, 30, 2000][at % 4], 1 + random.below(99));
        let mut make = |side: &str| -> Vec<u8> {
            let lines =
                (0..random.below(length / 2) + length / 2).map(|own| match random.below(100) < rate {
                    true => plain(random.below(shared)),
                    false => format!("{side} {own}\n"),
                });
            lines.collect::<String>().into_bytes()
        };
        all.push((make("old"), make("new")));
    }
    check(&Oracle::new(all), "");
}

#[test]
fn periodic_texts_differ_alike() {
    let mut random = Random::new(3);
    let all: Vec<Pair> = (0..400)
        .map(|_| {
            let period: Vec<usize> = (0..=random.below(4)).map(|_| random.below(3)).collect();
            let length = 60 + random.below(340);
            let mut make = |length: usize| -> Vec<u8> {
                let mut words: Vec<usize> = period.iter().copied().cycle().take(length).collect();
                for _ in 0..random.below(4) {
                    let near = [5, 100, 400][random.below(3)];
                    let at = random.below(near.min(words.len()) + 1);
                    let fresh: Vec<usize> = (0..=random.below(3)).map(|_| random.below(5)).collect();
                    drop(words.splice(at..at, fresh));
                }
                words
                    .iter()
                    .map(|word| plain(*word))
                    .collect::<String>()
                    .into_bytes()
            };
            let old = make(length);
            let new = make(length.saturating_sub(80) + 40);
            (old, new)
        })
        .collect();
    check(&Oracle::new(all), "");
}

#[test]
fn context_is_as_asked() {
    let oracle = Oracle::new(pairs(4, 300, 60, &plain));
    for options in ["-U0", "-U 1", "-U7", "-U 99999"] {
        check(&oracle, options);
    }
}

#[test]
fn white_space_and_ends_of_lines_count_as_asked() {
    let line = |word: usize| {
        let blanks = [" ", "  ", "\t", ""][word % 4];
        let end = ["\n", "\r\n", "\r", "\n"][word / 4 % 4];
        format!("{blanks}a{}b{}{blanks}{end}", blanks.repeat(word % 3), word % 5)
    };
    let oracle = Oracle::new(pairs(5, 400, 40, &line));
    for options in [
        "-b",
        "-w",
        "--ignore-eol-style",
        "-b --ignore-eol-style",
        "-w --ignore-eol-style",
        "",
    ] {
        check(&oracle, options);
    }
}

#[test]
fn functions_are_named_alike() {
    let line = |word: usize| match word % 11 {
        0 => format!("int f{word}(void)\n"),
        1 => format!("{{ {word}\n"),
        2 => format!("public: x{word}\n"),
        3 => format!("private:{word}\n"),
        4 => format!("_under{word}   \n"),
        5 => format!("$money {word} \t \r\n"),
        6 => format!("x{}{word}\n", "long ".repeat(word % 13)),
        7 => format!("label{word}:\n"),
        9 => format!("l\u{fffd}tin1 {word}\n"),
        8 => format!("a\u{e9}\u{8a66}{}{word}\n", "\u{8a66}\u{e9}".repeat(word % 15)),
        _ => format!("    {word}\n"),
    };
    let oracle = Oracle::new(pairs(6, 400, 60, &line));
    for options in ["-p", "-p -U1", "-p -U0"] {
        check(&oracle, options);
    }
}
