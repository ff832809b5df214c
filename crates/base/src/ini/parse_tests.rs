//! Each expectation was provoked with the real `svnauthz` or `svnserve` (1.14.2); line numbers are the true ones.

use super::*;

#[derive(Default)]
struct RecordedEvents(String);

impl IniVisitor for RecordedEvents {
    fn section(&mut self, name: &[u8]) -> Result<()> {
        self.0 += &format!("[{}]", name.escape_ascii());
        Ok(())
    }
    fn option(&mut self, name: &[u8], value: &[u8]) -> Result<()> {
        self.0 += &format!("<{}={}>", name.escape_ascii(), value.escape_ascii());
        Ok(())
    }
}

fn events(text: impl AsRef<[u8]>) -> String {
    let mut events = RecordedEvents::default();
    match parse(text.as_ref(), &mut events) {
        Ok(()) => events.0,
        Err(e) => {
            assert_eq!(e.code(), Code::MALFORMED_FILE);
            e.message()
        }
    }
}

#[test]
fn sections_options_and_comments() {
    assert_eq!(events(""), "");
    assert_eq!(events("\n\n  \n \t\x0b\x0c\n"), "");
    assert_eq!(events("[/]"), "[/]");
    assert_eq!(events("[a]b] junk\nx = r"), "[a]<x=r>");
    assert_eq!(events("[ a ]\nx y:z = w \n# c\n=1\n"), "[ a ]<x y=z = w><=1>");
    assert_eq!(events("\u{feff}[a]\nx=1 # no comment"), "[a]<x=1 # no comment>");
    assert_eq!(events("[a]\nx=1\n[a]\nx=2"), "[a]<x=1>[a]<x=2>");
    assert_eq!(events("[a]\nx\x0c\x0b\t =\x0c\x0b\t q\x0c\n"), "[a]<x=q>");
    assert_eq!(events("[a]\n\x01x=q\n"), "[a]<\\x01x=q>");
}

#[test]
fn continuation_lines_join_with_one_blank() {
    assert_eq!(events("[a]\nx = a\n  b  \n\tc\n"), "[a]<x=a b c>");
    assert_eq!(events("[a]\nx =\n b\n"), "[a]<x= b>");
    assert_eq!(events("[a]\nx = a\n    # d\n"), "[a]<x=a # d>");
    assert_eq!(events("[a]\nx = a\n   \ny=b"), "[a]<x=a><y=b>");
    assert_eq!(events("[a]\nx = a\n   \n b"), "line 4: Option expected");
    assert_eq!(events("[a]\nx = a\n\n b"), "line 4: Option expected");
    assert_eq!(events("[a]\nx = a\n# c\n b"), "line 4: Option expected");
}

#[test]
fn carriage_returns() {
    assert_eq!(events("[a]\r\nx = q\r\n y\r\n\r\ny=1\r\n"), "[a]<x=q y><y=1>");
    assert_eq!(events("[a]\rx = q\r"), "[a]");
    assert_eq!(events("[g]\nx = a\rb"), "[g]<x=a\\rb>");
    assert_eq!(events("[g]\n\r\rx=x"), "[g]<x=x>");
    assert_eq!(events("[g]\n\r[s]\n\r#c"), "[g][s]");
    assert_eq!(events("[g]\nx=x\n\r y"), "[g]<x=x y>");
    assert_eq!(events("[g]\nx=x\n  \r  y"), "[g]<x=x y>");
    assert_eq!(events("[g]\nx\r=x\r\r\n"), "[g]<x=x>");
    assert_eq!(events("[g]\n\r x = x"), "line 2: Option expected");
    assert_eq!(events("[g]\nx=x \r \n y"), "[g]<x=x y>");
}

#[test]
fn nul_bytes_end_values_and_spoil_names() {
    assert_eq!(events("[g]\nx = a\0b\n c"), "[g]<x=a>");
    assert_eq!(events("[g]\0\nx = \0"), "[g]<x=>");
    assert_eq!(events("[g\0]"), "line 1: Section header must end with ']'");
    assert_eq!(events("[g]\nx\0y = 1"), "line 2: Option must end with ':' or '='");
    assert_eq!(events("[g]\nx=1\n\0b"), "line 3: Option must end with ':' or '='");
}

#[test]
fn mistakes_name_their_line() {
    assert_eq!(events("[/\n"), "line 1: Section header must end with ']'");
    assert_eq!(events("["), "line 1: Section header must end with ']'");
    assert_eq!(events("[a]\n\n[/\n"), "line 3: Section header must end with ']'");
    assert_eq!(events("\n[/]\n[x=q"), "line 3: Section header must end with ']'");
    assert_eq!(events("x = y"), "line 1: Section header expected");
    assert_eq!(events("\n x"), "line 2: Section header expected");
    assert_eq!(events("\u{feff}\u{feff}[/]"), "line 1: Section header expected");
    assert_eq!(
        events(" [/]"),
        "line 1: Section header must start in the first column"
    );
    assert_eq!(
        events("[/]\n\n\n   # c"),
        "line 4: Comment must start in the first column"
    );
    assert_eq!(events("[/]\nx y"), "line 2: Option must end with ':' or '='");
    assert_eq!(
        events("[/]\nx=r\n[/a]\nx"),
        "line 4: Option must end with ':' or '='"
    );
    assert_eq!(events("[/]\n\x0cx=q\n"), "line 2: Option expected");
}

#[test]
fn a_visitors_refusal_comes_before_a_later_mistake() {
    struct FailingVisitor;
    impl IniVisitor for FailingVisitor {
        fn section(&mut self, _: &[u8]) -> Result<()> {
            Err(Error::bare(Code::AUTHZ_INVALID_CONFIG))
        }
        fn option(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
            Ok(())
        }
    }
    let e = parse(b"[bad]\n[/\n", &mut FailingVisitor).expect_err("the visitor refuses");
    assert_eq!(e.code(), Code::AUTHZ_INVALID_CONFIG);
}
