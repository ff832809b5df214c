//! The expectations of `expansion` were read off the realm that svnserve 1.14.2 announced.

use super::*;

/// The realm of a file whose `[general]` section holds `text`.
fn realm(text: &str) -> String {
    let values = Ini::parse(format!("[general]\n{text}").as_bytes(), Case::Ignored).expect("well-formed");
    let value = values.get(b"general", b"realm").expect("within bounds");
    value.map_or("-".to_owned(), |v| String::from_utf8_lossy(&v).into_owned())
}

#[test]
fn expansion() {
    for (text, expected) in [
        ("realm = %(x)s\nx = 1", "1"),
        ("realm = <%(X)s>\nx = 1", "<1>"),
        ("realm = <%(x)s>\nX = 1", "<1>"),
        ("realm = <%(x)s>\n[DEFAULT]\nx = 1", "<1>"),
        ("realm = <%(x)s>\n[default]\nx = 1", "<1>"),
        ("realm = <%(x)s>\nx=2\n[default]\nx = 1", "<2>"),
        ("realm = <%(nope)s>", "<%(nope)s>"),
        ("realm = <%(nope)s%(x)s>\nx=1", "<%(nope)s1>"),
        ("realm = %%(x)s\nx=1", "%1"),
        ("realm = %(x)\nx=1", "%(x)"),
        ("realm = %(x)d %(x)s\nx=1", "%(x)d %(x)s"),
        ("realm = %(x %(x)s\nx=1", "%(x %(x)s"),
        ("realm = a%(x)s%(y)sb\nx=%(y)s\ny=Y", "aYYb"),
        ("realm = a%(x)sb\nx=%(realm)s", ""),
        ("realm = a%(x)sb\nx=c%(y)s\ny=d%(x)s", ""),
        ("realm = a%(x)sb\nx=", "ab"),
        ("realm = %(realm)s", ""),
        ("realm = %( x )s\nx=1", "%( x )s"),
        ("realm = %()s\n=1", "1"),
        ("realm=a%(x)s b%(x)s\nx=%(q", "a%(q b%(q"),
        ("realm = é %(é)s %(É)s\né=1", "é 1 %(É)s"),
        ("realm = %(x)s\nx=%(y)s\n[default]\ny=D", "D"),
        ("realm = %(x)s\ny=G\n[default]\nx=%(y)s\ny=D", "D"),
        ("realm = %(x)s\ny=G\n[default]\nx=%(y)s", "%(y)s"),
        ("realm = %(x)s\nx=a%(y)s\ny=b%(nope)sc", "ab%(nope)sc"),
        ("r = 1\nRealm = 2\nREALM = 3", "3"),
        ("[DEFAULT]\nrealm = 1", "-"),
        ("x=y\n[DEFAULT]\nrealm = 1", "1"),
        ("X=y\n[Default]\nREALM = 1", "1"),
        ("x=y\nrealm=\n[DEFAULT]\nrealm = 1", ""),
        ("x=y\n[DEFAULT]\nrealm = a%(x)s", "a%(x)s"),
        ("x=y\n[DEFAULT]\nrealm = a%(x)s\nx = d", "ad"),
        ("x=%(realm)s\n[DEFAULT]\nrealm = %(x)s", "%(x)s"),
        ("x=y\n[DEFAULT]\nrealm = %(realm)s", ""),
        ("realm=%(x)s\n[DEFAULT]\nx = %(y)s\n[general]\ny=1", "%(y)s"),
        // An option of an existing section is set in [DEFAULT] if only that has it.
        ("[DEFAULT]\nrealm=%(y)s\ny=2\n[general]\nz=1\ny=3", "3"),
        ("[DEFAULT]\nrealm=%(y)s\ny=2\n[general]\ny=3", "2"),
        ("[DEFAULT]\nx=%(y)s\ny=2\n[general]\nrealm=%(x)s\ny=3", "3"),
        ("[DEFAULT]\nx=%(y)s\n[general]\nrealm=%(x)s\ny=3", "%(y)s"),
        ("z=1\ny=3\n[DEFAULT]\nrealm=%(x)s\nx=%(y)s\ny=2", "2"),
    ] {
        assert_eq!(realm(text), expected, "{text}");
    }
}

#[test]
fn case_matters_where_it_should() {
    let text = b"[default]\nA=%(B)s\na=2\n[DEFAULT]\nB=x\n[h]\nA=%(B)s%(b)s\n";
    let values = Ini::parse(text, Case::Sensitive).expect("well-formed");
    let all = |section: &[u8]| -> Vec<String> {
        let shown = |(n, v): (&[u8], Result<Cow<'_, [u8]>>)| {
            let value = v.expect("within bounds");
            format!(
                "{}={}",
                String::from_utf8_lossy(n),
                String::from_utf8_lossy(&value)
            )
        };
        values.options(section).map(shown).collect()
    };
    // A section that is called "default" in any case does not look into [DEFAULT]: the incumbent's rule.
    assert_eq!(all(b"default"), ["A=%(B)s", "a=2"]);
    assert_eq!(all(b"h"), ["A=x%(b)s"]);
    assert_eq!(all(b"nosuch"), [""; 0]);
    assert_eq!(values.sections().count(), 3);
}

#[test]
fn flags() {
    let values = Ini::parse(b"[s]\na=TRUE\nb=On\nc=1\nd=no\ne=t\nf=", Case::Ignored).expect("well-formed");
    for (option, expected) in [("a", true), ("b", true), ("c", true), ("d", false), ("z", true)] {
        assert_eq!(values.flag("s", option, true).ok(), Some(expected), "{option}");
    }
    let e = values.flag("s", "e", true).expect_err("not a boolean");
    assert_eq!(e.code(), Code::BAD_CONFIG_VALUE);
    assert_eq!(e.message(), "Config error: invalid boolean value 't' for '[s] e'");
    assert!(values.flag("s", "f", true).is_err());
}

#[test]
fn a_small_file_cannot_unfold_into_a_large_one() {
    let mut laughs = "[general]\nrealm = %(x40)s\nx0 = ha\n".to_owned();
    let mut empties = "[general]\nrealm = %(x40)s\nx0 =\n".to_owned();
    for n in 1..=40 {
        let line = format!("x{n} = %(x{0})s%(x{0})s\n", n - 1);
        laughs += &line;
        empties += &line;
    }
    let values = Ini::parse(laughs.as_bytes(), Case::Ignored).expect("well-formed");
    let e = values.get(b"general", b"realm").expect_err("too large");
    assert_eq!(e.code(), Code::BAD_CONFIG_VALUE);
    let values = Ini::parse(empties.as_bytes(), Case::Ignored).expect("well-formed");
    assert_eq!(
        values.get(b"general", b"realm").ok().flatten().as_deref(),
        Some(&b""[..])
    );

    let mut chain = "[general]\nrealm = %(x999)s\nx0 = ha\n".to_owned();
    for n in 1..1000 {
        chain += &format!("x{n} = %(x{})s\n", n - 1);
    }
    let values = Ini::parse(chain.as_bytes(), Case::Ignored).expect("well-formed");
    assert!(values.get(b"general", b"realm").is_err());
}
