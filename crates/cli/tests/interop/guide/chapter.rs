//! The fenced blocks of a chapter.
//!
//! | first line | meaning |
//! |---|---|
//! | ```` ```sh run ```` | a script: it is run, and each of its commands succeeds |
//! | ```` ```sh run fails ````, `fails=N` | a command: it is run, and its exit status is 1, or N |
//! | ```` ```sh serve ```` | a server: it is started in the background, in the place of the one before it |
//! | ```` ```sh no-run ```` | commands that no test can run, each of which the test knows |
//! | ```` ```text output ```` | what the last script printed; `…` stands for anything, alone in a line for any number of lines |
//! | ```` ```LANGUAGE file=PATH ```` | a file |

/// A fenced block.
pub struct Block {
    /// Where it begins.
    pub line: usize,
    pub kind: Kind,
    pub text: String,
}

/// What a block is for.
pub enum Kind {
    Run { status: i32 },
    Serve,
    NotRun,
    Output,
    File(String),
}

/// The blocks of a chapter, in order.
///
/// # Errors
/// The line and the mistake, if a block has no mark or no end, or fails and has several commands.
pub fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        let line = number + 1;
        let kind = kind(info).ok_or_else(|| format!("{line}: a block with the mark '{info}'"))?;
        let mut text = String::new();
        loop {
            match lines.next() {
                Some((_, "```")) => break,
                Some((_, inside)) => text = text + inside + "\n",
                None => return Err(format!("{line}: a block without its end")),
            }
        }
        let is_failure = matches!(kind, Kind::Run { status } if status != 0);
        if is_failure && text.lines().count() > 1 {
            return Err(format!("{line}: which of these commands fails?"));
        }
        blocks.push(Block { line, kind, text });
    }
    Ok(blocks)
}

fn kind(info: &str) -> Option<Kind> {
    let words: Vec<&str> = info.split(' ').collect();
    match words[..] {
        ["sh", "run"] => Some(Kind::Run { status: 0 }),
        ["sh", "run", "fails"] => Some(Kind::Run { status: 1 }),
        ["sh", "run", fails] => {
            let status = fails.strip_prefix("fails=")?.parse().ok()?;
            Some(Kind::Run { status })
        }
        ["sh", "serve"] => Some(Kind::Serve),
        ["sh", "no-run"] => Some(Kind::NotRun),
        ["text", "output"] => Some(Kind::Output),
        [_, file] => Some(Kind::File(file.strip_prefix("file=")?.to_owned())),
        _ => None,
    }
}

/// True if `printed` is what `expected` says, where `…` stands for anything. Empty lines at the end do not count.
pub fn matches(expected: &str, printed: &str) -> bool {
    let expected: Vec<&str> = expected.trim_end().lines().collect();
    let printed: Vec<&str> = printed.trim_end().lines().collect();
    lines_match(&expected, &printed)
}

fn lines_match(expected: &[&str], printed: &[&str]) -> bool {
    match (expected, printed) {
        ([], []) => true,
        (["…", rest @ ..], _) => (0..=printed.len()).any(|skipped| lines_match(rest, &printed[skipped..])),
        ([first, rest @ ..], [line, others @ ..]) => line_matches(first, line) && lines_match(rest, others),
        _ => false,
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let Some((start, rest)) = expected.split_once('…') else {
        return expected == line;
    };
    let Some(line) = line.strip_prefix(start) else {
        return false;
    };
    let ends = (0..=line.len()).filter(|end| line.is_char_boundary(*end));
    ends.into_iter().any(|end| line_matches(rest, &line[end..]))
}
