//! Messages of D-Bus: calls of methods, written, and their replies, read.
//!
//! A message is a fixed head of 16 bytes, fields with codes, blanks up to a multiple of 8 bytes, and a body. Values are aligned to their
//! size, counted from the begin of the message. The format is that of the D-Bus specification (freedesktop.org), version 1 of the
//! protocol.
//!
//! What is absent: types other than [`Value`], and all but the first value of a reply. No method that is called here needs them.

/// The bytes of a message up to its fields.
pub(super) const HEAD: usize = 16;
/// The longest message that is read, in bytes. The protocol allows 128 MiB.
const MOST_MESSAGE: usize = 64 << 10;

const LITTLE_ENDIAN: u8 = b'l';
const BIG_ENDIAN: u8 = b'B';
const VERSION: u8 = 1;
/// The kinds of messages.
const METHOD_CALL: u8 = 1;
const METHOD_RETURN: u8 = 2;
const ERROR: u8 = 3;
/// The codes of fields.
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const REPLY_SERIAL: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// An argument of a method, or what it returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Bool(bool),
    Int32(i32),
    Int64(i64),
    Text(String),
}

/// A call of a method.
#[derive(Clone, Copy, Debug)]
pub(super) struct MethodCall<'a> {
    /// The name of the program on the bus.
    pub(super) destination: &'a str,
    /// The path of the object.
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) member: &'a str,
    pub(super) arguments: &'a [Value],
}

/// What a message says about a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// The number of the call; `None` for a message that is no reply.
    pub(super) serial: Option<u32>,
    /// The first value that the method returns; `None` for an error.
    pub(super) value: Option<Value>,
}

impl MethodCall<'_> {
    /// Returns the message; `serial` is the number of the call, not 0. `None` if a text has a NUL, or if the arguments are too long.
    pub(super) fn encode(&self, serial: u32) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        let mut signature = String::new();
        for value in self.arguments {
            match value {
                Value::Bool(flag) => put_u32(&mut body, u32::from(*flag)),
                Value::Int32(number) => put_u32(&mut body, number.cast_unsigned()),
                Value::Int64(number) => {
                    align(&mut body, 8);
                    body.extend(number.to_le_bytes());
                }
                Value::Text(text) => put_text(&mut body, text)?,
            }
            signature.push(value.code());
        }
        let mut message = vec![LITTLE_ENDIAN, METHOD_CALL, 0, VERSION];
        put_u32(&mut message, u32::try_from(body.len()).ok()?);
        put_u32(&mut message, serial);
        put_u32(&mut message, 0);
        for (code, kind, text) in [
            (PATH, b'o', self.path),
            (INTERFACE, b's', self.interface),
            (MEMBER, b's', self.member),
            (DESTINATION, b's', self.destination),
        ] {
            align(&mut message, 8);
            message.extend([code, 1, kind, 0]);
            put_text(&mut message, text)?;
        }
        if !signature.is_empty() {
            align(&mut message, 8);
            message.extend([SIGNATURE, 1, b'g', 0, u8::try_from(signature.len()).ok()?]);
            message.extend(signature.as_bytes());
            message.push(0);
        }
        let fields = u32::try_from(message.len() - HEAD).ok()?;
        message[HEAD - 4..HEAD].copy_from_slice(&fields.to_le_bytes());
        align(&mut message, 8);
        message.extend(body);
        Some(message)
    }
}

impl Value {
    fn code(&self) -> char {
        match self {
            Value::Bool(_) => 'b',
            Value::Int32(_) => 'i',
            Value::Int64(_) => 'x',
            Value::Text(_) => 's',
        }
    }
}

/// Returns the length of a message with this head, in bytes. `None` if it is no message, or too long.
pub(super) fn message_length(head: &[u8; HEAD]) -> Option<usize> {
    let mut reader = Reader::new(head)?;
    reader.at = 4;
    let body = reader.length()?;
    reader.at = 12;
    let fields = reader.length()?;
    let length = (HEAD + fields).next_multiple_of(8) + body;
    (length <= MOST_MESSAGE).then_some(length)
}

/// Reads a message. `None` if it is malformed, or has a field of a type that the specification does not name.
pub(super) fn decode(message: &[u8]) -> Option<Reply> {
    let mut reader = Reader::new(message)?;
    reader.at = HEAD - 4;
    let end = HEAD + reader.length()?;
    let mut serial = None;
    let mut signature = "";
    while reader.at < end {
        reader.align(8);
        let code = reader.byte()?;
        match (code, reader.signature()?) {
            (REPLY_SERIAL, "u") => serial = Some(reader.u32()?),
            (SIGNATURE, "g") => signature = reader.signature()?,
            (_, "u") => _ = reader.u32()?,
            (_, "s" | "o") => _ = reader.text()?,
            (_, "g") => _ = reader.signature()?,
            _ => return None,
        }
    }
    reader.align(8);
    let kind = *message.get(1)?;
    let value = match kind {
        METHOD_RETURN => reader.value(signature),
        _ => None,
    };
    let serial = serial.filter(|_| matches!(kind, METHOD_RETURN | ERROR));
    Some(Reply { serial, value })
}

fn align(bytes: &mut Vec<u8>, to: usize) {
    bytes.resize(bytes.len().next_multiple_of(to), 0);
}

fn put_u32(bytes: &mut Vec<u8>, number: u32) {
    align(bytes, 4);
    bytes.extend(number.to_le_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &str) -> Option<()> {
    if text.contains('\0') {
        return None;
    }
    put_u32(bytes, u32::try_from(text.len()).ok()?);
    bytes.extend(text.as_bytes());
    bytes.push(0);
    Some(())
}

struct Reader<'a> {
    message: &'a [u8],
    at: usize,
    is_big_endian: bool,
}

impl<'a> Reader<'a> {
    fn new(message: &'a [u8]) -> Option<Reader<'a>> {
        let is_big_endian = match *message.first()? {
            LITTLE_ENDIAN => false,
            BIG_ENDIAN => true,
            _ => return None,
        };
        Some(Reader {
            message,
            at: 0,
            is_big_endian,
        })
    }

    fn align(&mut self, to: usize) {
        self.at = self.at.next_multiple_of(to);
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let bytes = self.message.get(self.at..)?.get(..length)?;
        self.at += length;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn u32(&mut self) -> Option<u32> {
        self.align(4);
        let bytes = self.bytes(4)?.try_into().ok()?;
        Some(match self.is_big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    /// Returns a length in bytes, not more than that of a message.
    fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(self.u32()?).ok()?;
        (length <= MOST_MESSAGE).then_some(length)
    }

    fn i64(&mut self) -> Option<i64> {
        self.align(8);
        let bytes = self.bytes(8)?.try_into().ok()?;
        Some(match self.is_big_endian {
            true => i64::from_be_bytes(bytes),
            false => i64::from_le_bytes(bytes),
        })
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.length()?;
        self.terminated(length)
    }

    fn signature(&mut self) -> Option<&'a str> {
        let length = usize::from(self.byte()?);
        self.terminated(length)
    }

    /// Returns a text of this length, after which is a NUL.
    fn terminated(&mut self, length: usize) -> Option<&'a str> {
        let bytes = self.bytes(length)?;
        if self.byte()? != 0 {
            return None;
        }
        str::from_utf8(bytes).ok()
    }

    /// Returns the first value of a body with this signature.
    fn value(&mut self, signature: &str) -> Option<Value> {
        match signature.chars().next()? {
            'b' => Some(Value::Bool(self.u32()? != 0)),
            'i' => Some(Value::Int32(self.u32()?.cast_signed())),
            'x' => Some(Value::Int64(self.i64()?)),
            's' => Some(Value::Text(self.text()?.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const CALL: MethodCall<'static> = MethodCall {
        destination: "org.kde.kwalletd5",
        path: "/modules/kwalletd5",
        interface: "org.kde.KWallet",
        member: "isOpen",
        arguments: &[],
    };

    /// Makes a reply out of a call: the body and the signature are those of the arguments.
    fn reply(arguments: &[Value]) -> Vec<u8> {
        let call = MethodCall { arguments, ..CALL };
        let mut message = call.encode(7).expect("because the texts have no NUL");
        message[1] = METHOD_RETURN;
        // In place of the interface, whose value is skipped: the field for the number of the call.
        let field = b"\x02\x01s\0\x0f\0\0\0org.kde.KWallet\0";
        let at = message.windows(field.len()).position(|bytes| bytes == field);
        let at = at.expect("because a call has an interface");
        let fields = b"\x05\x01u\0\x2a\0\0\0\x0a\x01s\0\x07\0\0\0:1.1234\0";
        message.splice(at..at + field.len() + padding(field.len()), fields.to_vec());
        let length = message_fields(&message);
        message[HEAD - 4..HEAD].copy_from_slice(&length.to_le_bytes());
        message
    }

    fn padding(length: usize) -> usize {
        length.next_multiple_of(8) - length
    }

    /// The old length, less what was cut out.
    fn message_fields(message: &[u8]) -> u32 {
        let bytes = message[HEAD - 4..HEAD]
            .try_into()
            .expect("because it has 4 bytes");
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn a_call_has_the_bytes_of_the_specification() {
        let arguments = [Value::Text("w".to_owned()), Value::Int64(1), Value::Bool(true)];
        let call = MethodCall {
            destination: "d.d",
            path: "/p",
            interface: "i.i",
            member: "m",
            arguments: &arguments,
        };
        let expected = b"l\x01\0\x01\x14\0\0\0\x03\0\0\0\x49\0\0\0\
            \x01\x01o\0\x02\0\0\0/p\0\0\0\0\0\0\
            \x02\x01s\0\x03\0\0\0i.i\0\0\0\0\0\
            \x03\x01s\0\x01\0\0\0m\0\0\0\0\0\0\0\
            \x06\x01s\0\x03\0\0\0d.d\0\0\0\0\0\
            \x08\x01g\0\x03sxb\0\0\0\0\0\0\0\0\
            \x01\0\0\0w\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0";
        let message = call.encode(3).expect("because the texts have no NUL");
        assert_eq!(
            message.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
        let head = message[..HEAD].try_into().expect("because it is longer");
        assert_eq!(message_length(&head), Some(message.len()));
        assert_eq!(
            decode(&message),
            Some(Reply {
                serial: None,
                value: None
            })
        );
        let arguments = [Value::Text("a\0b".to_owned())];
        assert_eq!(
            MethodCall {
                arguments: &arguments,
                ..call
            }
            .encode(1),
            None
        );
    }

    #[test]
    fn the_first_value_of_a_reply_is_read() {
        for value in [
            Value::Bool(true),
            Value::Int32(-1),
            Value::Int64(i64::MIN),
            Value::Text("söcret".to_owned()),
        ] {
            let message = reply(&[value.clone(), Value::Int32(5)]);
            let read = decode(&message).expect("because it is well-formed");
            assert_eq!((read.serial, read.value), (Some(42), Some(value)));
        }
        let mut message = reply(&[Value::Int32(5)]);
        message[1] = ERROR;
        let read = decode(&message).expect("because it is well-formed");
        assert_eq!((read.serial, read.value), (Some(42), None));
    }

    #[test]
    fn a_reply_in_the_other_byte_order_is_read() {
        let message = b"B\x02\x01\x01\0\0\0\x04\0\0\0\x01\0\0\0\x0f\
            \x05\x01u\0\0\0\0\x2a\x08\x01g\0\x01i\0\0\0\0\0\x07";
        let read = decode(message).expect("because it is well-formed");
        assert_eq!((read.serial, read.value), (Some(42), Some(Value::Int32(7))));
    }

    #[test]
    fn damaged_messages_are_refused_without_a_panic() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let message = reply(&[Value::Text("secret".to_owned())]);
        for end in 0..message.len() {
            assert_eq!(decode(&message[..end]).and_then(|reply| reply.value), None);
        }
        for _ in 0..20_000 {
            let mut damaged = message.clone();
            for _ in 0..random.random_range(1..5) {
                let at = random.random_range(0..damaged.len());
                damaged[at] = random.random();
            }
            _ = decode(&damaged);
            let head = damaged[..HEAD].try_into().expect("because it is longer");
            assert!(message_length(&head).is_none_or(|length| length <= MOST_MESSAGE));
        }
    }
}
