//! Proving who is there: the mechanisms that Subversion has built in.
//!
//! ANONYMOUS proves nothing, EXTERNAL trusts the tunnel, CRAM-MD5 (RFC 2195, without base64) proves that the
//! client knows the password without sending it. Randomness and time come from the caller.

use hmac::{Hmac, KeyInit, Mac};

use super::item::{Malformed, Tuple};
use super::write::Writer;

/// A client's choice of mechanism: `( mech ( ? token ) )`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthResponse<'a> {
    /// Name of the mechanism.
    pub mechanism: &'a str,
    /// Initial token; mechanisms without one and an empty one are different things.
    pub token: Option<&'a [u8]>,
}

impl<'a> AuthResponse<'a> {
    /// Reads the message.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse(mut tuple: Tuple<'a>) -> Result<Self, Malformed> {
        let mechanism = tuple.word()?;
        let token = tuple.maybe_string()?;
        Ok(AuthResponse { mechanism, token })
    }

    /// Writes the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        Writer(out)
            .open()
            .word(self.mechanism)
            .maybe_string(self.token)
            .close();
    }
}

/// The next message of the server in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthAnswer<'a> {
    /// A challenge; the client responds with a bare string.
    Step(&'a [u8]),
    /// Done.
    Success(Option<&'a [u8]>),
    /// Refused, with the reason; the client may try again.
    Failure(&'a [u8]),
}

impl<'a> AuthAnswer<'a> {
    /// Reads the message.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse(mut tuple: Tuple<'a>) -> Result<Self, Malformed> {
        let word = tuple.word()?;
        let mut params = tuple.list()?;
        Ok(match word {
            "step" => AuthAnswer::Step(params.string()?),
            "success" if params.is_empty() => AuthAnswer::Success(None),
            "success" => AuthAnswer::Success(Some(params.string()?)),
            "failure" => AuthAnswer::Failure(params.string()?),
            _ => return Err(Malformed::Word),
        })
    }

    /// Writes the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.open();
        match self {
            AuthAnswer::Step(token) => out.word("step").maybe_string(Some(token)),
            AuthAnswer::Success(token) => out.word("success").maybe_string(*token),
            AuthAnswer::Failure(text) => out.word("failure").maybe_string(Some(text)),
        };
        out.close();
    }
}

/// Why a CRAM-MD5 response was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CramRefusal {
    /// No space, or no digest of 32 lower-case hexadecimal digits behind it.
    Malformed,
    /// The user name is unknown.
    UnknownUser,
    /// The digest is another one.
    WrongPassword,
}

impl CramRefusal {
    /// The text that is sent to the client.
    pub fn text(self) -> &'static str {
        match self {
            CramRefusal::Malformed => "Malformed client response in authentication",
            CramRefusal::UnknownUser => "Username not found",
            CramRefusal::WrongPassword => "Password incorrect",
        }
    }
}

/// Makes a challenge: `<nonce.microseconds@host>`.
pub fn cram_challenge(nonce: u64, now_micros: i64, host: &str) -> String {
    format!("<{nonce}.{now_micros}@{host}>")
}

/// Makes a client's response to a challenge.
pub fn cram_answer(user: &str, password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let digest = keyed(password, challenge).finalize().into_bytes();
    let mut answer = format!("{user} ").into_bytes();
    for byte in digest {
        answer.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    answer
}

/// Checks a client's response; `password_of` returns the password of a user. The digests are compared in constant
/// time, and an unknown name takes as long as a wrong password.
///
/// # Errors
/// Why the response is refused.
pub fn cram_check<'a>(
    answer: &'a [u8],
    challenge: &[u8],
    password_of: impl FnOnce(&str) -> Option<Vec<u8>>,
) -> Result<&'a str, CramRefusal> {
    let space = answer
        .iter()
        .rposition(|b| *b == b' ')
        .ok_or(CramRefusal::Malformed)?;
    let digest = parse_digest(&answer[space + 1..]).ok_or(CramRefusal::Malformed)?;
    let user = std::str::from_utf8(&answer[..space]).map_err(|_| CramRefusal::UnknownUser)?;
    let password = password_of(user);
    let known = password.is_some();
    let right = keyed(&password.unwrap_or_default(), challenge)
        .verify_slice(&digest)
        .is_ok();
    match (known, right) {
        (true, true) => Ok(user),
        (true, false) => Err(CramRefusal::WrongPassword),
        (false, _) => Err(CramRefusal::UnknownUser),
    }
}

fn keyed(key: &[u8], message: &[u8]) -> Hmac<md5::Md5> {
    let mut mac = Hmac::<md5::Md5>::new_from_slice(key).expect("because HMAC takes keys of any length");
    mac.update(message);
    mac
}

fn parse_digest(text: &[u8]) -> Option<[u8; 16]> {
    let mut digest = [0; 16];
    if text.len() != 32 {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(text.chunks_exact(2)) {
        *byte = (nibble(pair[0])? << 4) | nibble(pair[1])?;
    }
    Some(digest)
}

/// Lower-case only: the incumbent refuses upper case.
fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of RFC 2195.
    const CHALLENGE: &[u8] = b"<1896.697170952@postoffice.reston.mci.net>";
    const ANSWER: &[u8] = b"tim b913a602c7eda7a495b4e6e7334d3890";

    fn tim(user: &str) -> Option<Vec<u8>> {
        (user == "tim").then(|| b"tanstaaftanstaaf".to_vec())
    }

    #[test]
    fn cram_md5_is_that_of_rfc_2195() {
        assert_eq!(cram_answer("tim", b"tanstaaftanstaaf", CHALLENGE), ANSWER);
        assert_eq!(cram_check(ANSWER, CHALLENGE, tim), Ok("tim"));
        assert_eq!(cram_challenge(1896, 697_170_952, "h"), "<1896.697170952@h>");
    }

    #[test]
    fn refusals_have_three_reasons() {
        let check = |answer: &str| cram_check(answer.as_bytes(), CHALLENGE, tim).map(|_| ());
        let upper = "tim B913A602C7EDA7A495B4E6E7334D3890";
        assert_eq!(check(upper), Err(CramRefusal::Malformed));
        assert_eq!(check("tim"), Err(CramRefusal::Malformed));
        assert_eq!(check("tim 00"), Err(CramRefusal::Malformed));
        assert_eq!(
            check("tom b913a602c7eda7a495b4e6e7334d3890"),
            Err(CramRefusal::UnknownUser)
        );
        assert_eq!(
            check("tim 0913a602c7eda7a495b4e6e7334d3890"),
            Err(CramRefusal::WrongPassword)
        );
        // A name may hold spaces: the last one separates.
        assert_eq!(
            check("t im 0913a602c7eda7a495b4e6e7334d3890"),
            Err(CramRefusal::UnknownUser)
        );
    }
}
