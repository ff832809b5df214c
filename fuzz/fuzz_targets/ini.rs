#![no_main]
//! Configuration files: every value can be read, within bounds, and the event parser and [`Ini`] agree on the
//! contents.

use base::ini::{Case, Ini, IniVisitor, parse};
use libfuzzer_sys::fuzz_target;

#[derive(Default)]
struct CountingVisitor {
    sections: usize,
    options: usize,
}

impl IniVisitor for CountingVisitor {
    fn section(&mut self, name: &[u8]) -> base::Result<()> {
        assert!(!name.contains(&b']') && !name.contains(&b'\n'));
        self.sections += 1;
        Ok(())
    }

    fn option(&mut self, name: &[u8], value: &[u8]) -> base::Result<()> {
        assert!(!name.contains(&b'=') && !value.contains(&b'\n') && !value.contains(&0));
        self.options += 1;
        Ok(())
    }
}

fuzz_target!(|text: &[u8]| {
    let mut count = CountingVisitor::default();
    let result = parse(text, &mut count);
    for case in [Case::Sensitive, Case::Ignored] {
        let ini = Ini::parse(text, case);
        assert_eq!(ini.is_ok(), result.is_ok());
        let Ok(ini) = ini else { continue };
        let (mut sections, mut options) = (0, 0);
        for section in ini.sections() {
            sections += 1;
            for (name, value) in ini.options(section) {
                options += 1;
                let found = ini.get(section, name);
                match value {
                    Ok(value) => {
                        assert!(value.len() <= 1 << 20 || value.len() <= text.len());
                        assert_eq!(found.ok().flatten(), Some(value));
                    }
                    Err(_) => assert!(found.is_err()),
                }
            }
        }
        assert!(sections <= count.sections && options <= count.options);
    }
});
