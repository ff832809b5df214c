//! MD5-crypt, the password hash with salt and a thousand rounds of MD5: `$apr1$`, the default of `htpasswd`, and `$1$` of older
//! systems.

use md5::{Digest as _, Md5};

/// Returns whether `stored` (`$apr1$SALT$HASH` or `$1$SALT$HASH`) is a hash of `password`; `None` if it is neither.
pub(super) fn verify(password: &[u8], stored: &str) -> Option<bool> {
    let magic = ["$apr1$", "$1$"]
        .into_iter()
        .find(|magic| stored.starts_with(magic))?;
    let (salt, hash) = stored[magic.len()..].split_once('$')?;
    let salt = &salt.as_bytes()[..salt.len().min(8)];
    let made = encode(&crypt(password, magic.as_bytes(), salt));
    Some(super::same(made.as_bytes(), hash.as_bytes()))
}

fn crypt(password: &[u8], magic: &[u8], salt: &[u8]) -> [u8; 16] {
    let inner = Md5::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize();
    let mut hash = Md5::new()
        .chain_update(password)
        .chain_update(magic)
        .chain_update(salt);
    let mut left = password.len();
    while left > 0 {
        let count = left.min(16);
        hash.update(&inner[..count]);
        left -= count;
    }
    let mut bits = password.len();
    while bits > 0 {
        match bits & 1 {
            1 => hash.update([0]),
            _ => hash.update(&password[..1]),
        }
        bits >>= 1;
    }
    let mut digest: [u8; 16] = hash.finalize().into();
    for round in 0..1000 {
        let mut hash = Md5::new();
        match round & 1 {
            1 => hash.update(password),
            _ => hash.update(digest),
        }
        if round % 3 != 0 {
            hash.update(salt);
        }
        if round % 7 != 0 {
            hash.update(password);
        }
        match round & 1 {
            1 => hash.update(digest),
            _ => hash.update(password),
        }
        digest = hash.finalize().into();
    }
    digest
}

/// Six bits a character, the lowest first, of bytes in an order of their own.
fn encode(digest: &[u8; 16]) -> String {
    const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const GROUPS: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];
    let mut text = String::with_capacity(22);
    let mut put = |mut bits: u32, count: usize| {
        for _ in 0..count {
            text.push(char::from(DIGITS[(bits & 63) as usize]));
            bits >>= 6;
        }
    };
    for [a, b, c] in GROUPS {
        let byte = |at: usize| u32::from(digest[at]);
        put(byte(a) << 16 | byte(b) << 8 | byte(c), 4);
    }
    put(u32::from(digest[11]), 2);
    text
}
