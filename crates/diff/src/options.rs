//! Options of a difference, and their syntax after `-x`.

use base::{Code, Error, Result};

/// What is shown, and which differences count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffOptions {
    /// Lines of context around a change.
    pub context: usize,
    /// Which white space counts.
    pub whitespace: Whitespace,
    /// `\n`, `\r\n` and `\r` count as the same end of a line.
    pub ignore_eol_style: bool,
    /// Hunk headers name the function that a change is in.
    pub show_c_function: bool,
}

/// The white space within a line that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Whitespace {
    /// All white space.
    #[default]
    Counts,
    /// Whether there is some, not how much.
    AmountIgnored,
    /// None.
    Ignored,
}

impl Default for DiffOptions {
    fn default() -> Self {
        DiffOptions {
            context: CONTEXT,
            whitespace: Whitespace::Counts,
            ignore_eol_style: false,
            show_c_function: false,
        }
    }
}

impl DiffOptions {
    /// Parses the arguments of `-x`, already split at blanks.
    ///
    /// # Errors
    /// `INVALID_DIFF_OPTION` for unknown ones, `INCORRECT_PARAMS` for a context that is no number.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut options = DiffOptions::default();
        let mut words = words.into_iter();
        let mut stray = None;
        while let Some(word) = words.next() {
            if word == "--" {
                stray = stray.or_else(|| words.next());
                break;
            }
            if let Some(long) = word.strip_prefix("--") {
                options.long(word, long, &mut words)?;
            } else if let Some(letters) = word.strip_prefix('-') {
                options.letters(letters, &mut words)?;
            } else {
                stray = stray.or(Some(word));
            }
        }
        match stray {
            None => Ok(options),
            Some(word) => Err(Error::new(
                Code::INVALID_DIFF_OPTION,
                format!("Invalid argument '{word}' in diff options"),
            )),
        }
    }

    fn long<'a>(&mut self, word: &str, long: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<()> {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        if name == "context" {
            let value = value
                .or_else(|| rest.next())
                .ok_or_else(|| refused(&format!("missing argument: {word}")))?;
            return self.set_context(value);
        }
        let letter = match name {
            "unified" => 'u',
            "ignore-space-change" => 'b',
            "ignore-all-space" => 'w',
            "show-c-function" => 'p',
            "ignore-eol-style" => EOL,
            _ => return Err(refused(&format!("invalid option: {word}"))),
        };
        if value.is_some() {
            return Err(refused(&format!("erroneous argument: {word}")));
        }
        self.letter(letter);
        Ok(())
    }

    fn letters<'a>(&mut self, letters: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<()> {
        if letters.is_empty() {
            return Err(refused("invalid option: "));
        }
        for (at, letter) in letters.char_indices() {
            match letter {
                'U' => {
                    let attached = &letters[at + 1..];
                    let value = match attached {
                        "" => rest.next().ok_or_else(|| refused("missing argument: U"))?,
                        attached => attached,
                    };
                    return self.set_context(value);
                }
                'u' | 'b' | 'w' | 'p' => self.letter(letter),
                _ => return Err(refused(&format!("invalid option character: {letter}"))),
            }
        }
        Ok(())
    }

    fn letter(&mut self, letter: char) {
        match letter {
            // The stronger of the two wins.
            'b' if self.whitespace == Whitespace::Counts => self.whitespace = Whitespace::AmountIgnored,
            'w' => self.whitespace = Whitespace::Ignored,
            'p' => self.show_c_function = true,
            EOL => self.ignore_eol_style = true,
            _ => {}
        }
    }

    fn set_context(&mut self, value: &str) -> Result<()> {
        let wrong = |text: String| Err(Error::new(Code::INCORRECT_PARAMS, text));
        let number = value.trim_start();
        let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return wrong(format!("Could not convert '{value}' into a number"));
        }
        match number.parse::<i32>() {
            // A negative number is the default.
            Ok(lines) => self.context = usize::try_from(lines).unwrap_or(CONTEXT),
            Err(_) => {
                return wrong(format!(
                    "Number '{value}' is out of range '[{}, {}]'",
                    i32::MIN,
                    i32::MAX
                ));
            }
        }
        Ok(())
    }
}

fn refused(what: &str) -> Error {
    Error::new(Code::INVALID_DIFF_OPTION, format!("{what}\n")).context("Error in options to internal diff")
}

/// Replaces the long option without a letter.
const EOL: char = '\n';
const CONTEXT: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DiffOptions> {
        DiffOptions::parse(text.split_whitespace())
    }

    #[test]
    fn options_read() {
        let read = |text| read(text).expect("good options");
        assert_eq!(read(""), DiffOptions::default());
        assert_eq!(read("-U 1").context, 1);
        assert_eq!(read("-uU7").context, 7);
        assert_eq!(read("--context=0").context, 0);
        assert_eq!(read("-U -1").context, 3);
        assert_eq!(read("-w -b").whitespace, Whitespace::Ignored);
        assert_eq!(read("-ub").whitespace, Whitespace::AmountIgnored);
        assert!(read("--ignore-eol-style").ignore_eol_style);
        assert!(read("-p").show_c_function);
    }

    #[test]
    fn bad_options_name_themselves() {
        for (text, last) in [
            ("-z", "invalid option character: z\n"),
            ("--bad", "invalid option: --bad\n"),
            ("--unified=3", "erroneous argument: --unified=3\n"),
            ("-U", "missing argument: U\n"),
            ("-U x", "Could not convert 'x' into a number"),
            (
                "-U 99999999999",
                "Number '99999999999' is out of range '[-2147483648, 2147483647]'",
            ),
            ("-u foo", "Invalid argument 'foo' in diff options"),
            ("-- -u", "Invalid argument '-u' in diff options"),
        ] {
            let error = read(text).expect_err("bad options");
            assert_eq!(error.root_cause().text(), last);
        }
    }
}
