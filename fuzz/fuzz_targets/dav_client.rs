//! Bytes as the response of a server: refused or read, event by event and by child of the root, within the limits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::dav::client::{PropResponse, XmlEvent, XmlEvents, property_name, read_fault, value};
use wire::dav::stream::ElementStream;
use wire::dav::xml::{Element, XmlLimits};

fuzz_target!(|data: &[u8]| {
    let limits = XmlLimits {
        bytes: 4096,
        ..XmlLimits::default()
    };
    let mut events = XmlEvents::new(data, limits);
    while let Ok(event) = events.next_event() {
        match event {
            XmlEvent::Start { name, .. } if name.local == "t" => {
                let mut length = 0;
                _ = events.read_base64(&mut |bytes| {
                    length += bytes.len();
                    Ok(())
                });
                assert!(length <= data.len());
            }
            XmlEvent::Start { .. } => {}
            XmlEvent::End { text, .. } => assert!(text.len() <= 4096),
            XmlEvent::Eof => break,
        }
    }
    if let Ok(Some(mut stream)) = ElementStream::open(data, limits) {
        while let Ok(Some(child)) = stream.next_child() {
            read(&child);
        }
    }
});

fn read(child: &Element) {
    _ = read_fault(child);
    if let Some(response) = PropResponse::read(child) {
        for prop in &response.found {
            _ = (property_name(&prop.name), value(prop));
        }
    }
}
