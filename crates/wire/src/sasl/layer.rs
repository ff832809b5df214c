//! The security layer of DIGEST-MD5 (RFC 2831, sections 2.3 and 2.4): every block has a length, a text that may be encrypted, a
//! checksum with a key, and a number that counts the blocks of its direction.
//!
//! ```text
//! length (4 bytes, of what follows) · text and padding · checksum (10 bytes) · 00 01 · number of the block (4 bytes)
//! ```
//!
//! Text, padding and checksum are encrypted if the peers agreed on a cipher. A block that was changed, left out or repeated is noticed.

use cipher::{
    Block, BlockModeDecrypt as _, BlockModeEncrypt as _, KeyInit as _, KeyIvInit as _, StreamCipher as _,
};
use des::{Des, TdesEde2};
use hmac::{Hmac, Mac as _};
use md5::{Digest as _, Md5};
use rc4::Rc4;

/// The longest block that this peer receives, bytes behind the length. It is announced as `maxbuf`.
pub(super) const LONGEST_BLOCK: usize = 16384;

/// Bytes of a block behind its text, at most: padding, checksum, the version and the number.
const OVERHEAD: usize = 8 + CHECKSUM + 6;
const CHECKSUM: usize = 10;
const VERSION: [u8; 2] = [0, 1];

/// A cipher of DIGEST-MD5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CipherName {
    Rc4Short,
    Rc4Medium,
    Rc4,
    Des,
    TripleDes,
}

impl CipherName {
    /// All of them, in the order in which the incumbent lists them.
    pub(super) const ALL: [CipherName; 5] = [
        CipherName::Rc4Short,
        CipherName::Rc4Medium,
        CipherName::Rc4,
        CipherName::Des,
        CipherName::TripleDes,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            CipherName::Rc4Short => "rc4-40",
            CipherName::Rc4Medium => "rc4-56",
            CipherName::Rc4 => "rc4",
            CipherName::Des => "des",
            CipherName::TripleDes => "3des",
        }
    }

    /// Returns the strength, bits of the key.
    pub(super) fn strength(self) -> u32 {
        match self {
            CipherName::Rc4Short => 40,
            CipherName::Rc4Medium => 56,
            CipherName::Rc4 => 128,
            CipherName::Des => 55,
            CipherName::TripleDes => 112,
        }
    }

    /// Returns how many bytes of the session's hash the key is made of.
    fn hash_bytes(self) -> usize {
        match self {
            CipherName::Rc4Short => 5,
            CipherName::Rc4Medium => 7,
            _ => 16,
        }
    }
}

/// How the bytes behind an exchange are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Checksums only (`auth-int`).
    Integrity,
    /// Checksums and encryption (`auth-conf`).
    Confidentiality(CipherName),
}

/// A block that is not the next one that the peer protected. The connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenBlock;

/// A security layer: both directions of a connection.
pub struct Layer {
    /// Protects what is sent.
    pub sealer: Sealer,
    /// Checks what is received.
    pub opener: Opener,
}

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

impl Layer {
    /// Makes a peer's layer from the hash of the session, `H(A1)`. Blocks to the peer are at most as long as it announced.
    pub(super) fn new(
        protection: Protection,
        session_hash: &[u8; 16],
        is_server: bool,
        peer_longest: usize,
    ) -> Layer {
        let (out, back) = match is_server {
            true => (Direction::ToClient, Direction::ToServer),
            false => (Direction::ToServer, Direction::ToClient),
        };
        Layer {
            sealer: Sealer {
                state: DirectionState::new(protection, session_hash, out, true),
                most_text: peer_longest.min(LONGEST_BLOCK).saturating_sub(OVERHEAD).max(1),
            },
            opener: Opener {
                state: DirectionState::new(protection, session_hash, back, false),
                pending: Vec::new(),
            },
        }
    }
}

impl Layer {
    /// Replaces the text that a connection is about to send by blocks.
    pub fn seal_output(&mut self, output: &mut Vec<u8>) {
        let mut sealed = Vec::with_capacity(output.len() + output.len() / 256 + 64);
        self.sealer.seal(output, &mut sealed);
        *output = sealed;
    }

    /// Replaces what a connection has received, from byte `start` of `input` on, by the text of the blocks that are whole.
    ///
    /// # Errors
    /// As [`Opener::open`].
    pub fn open_input(&mut self, input: &mut Vec<u8>, start: usize) -> Result<(), BrokenBlock> {
        let received = input.split_off(start);
        self.opener.open(&received, input)
    }
}

/// Shows no key.
impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Layer")
    }
}

/// Protects what is sent.
pub struct Sealer {
    state: DirectionState,
    /// The longest text of a block, bytes.
    most_text: usize,
}

impl Sealer {
    /// Appends blocks with `text` to `out`.
    pub fn seal(&mut self, text: &[u8], out: &mut Vec<u8>) {
        for part in text.chunks(self.most_text) {
            let checksum = self.state.checksum(part);
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(part);
            let padding = self.state.padding(part.len());
            out.extend(std::iter::repeat_n(padding, usize::from(padding)));
            out.extend_from_slice(&checksum);
            self.state.apply_cipher(&mut out[start + 4..]);
            out.extend_from_slice(&VERSION);
            out.extend_from_slice(&self.state.number.to_be_bytes());
            self.state.number = self.state.number.wrapping_add(1);
            let length = u32::try_from(out.len() - start - 4).expect("because a block is short");
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// Checks what is received.
pub struct Opener {
    state: DirectionState,
    /// The beginning of a block.
    pending: Vec<u8>,
}

impl Opener {
    /// Takes received bytes, which may end within a block; appends the text of the blocks that are whole to `text`.
    ///
    /// # Errors
    /// A block is too long, changed, missing or repeated.
    pub fn open(&mut self, received: &[u8], text: &mut Vec<u8>) -> Result<(), BrokenBlock> {
        self.pending.extend_from_slice(received);
        let mut start = 0;
        while let Some((head, rest)) = self.pending[start..].split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*head) as usize;
            if !(CHECKSUM + 6..=LONGEST_BLOCK).contains(&length) {
                return Err(BrokenBlock);
            }
            if rest.len() < length {
                break;
            }
            let block = start + 4..start + 4 + length;
            start = block.end;
            self.state.open(&mut self.pending[block], text)?;
        }
        self.pending.drain(..start);
        Ok(())
    }
}

/// The keys of one direction, and the number of its next block.
struct DirectionState {
    integrity_key: [u8; 16],
    cipher: Option<Cipher>,
    number: u32,
}

impl DirectionState {
    fn new(
        protection: Protection,
        session_hash: &[u8; 16],
        direction: Direction,
        is_sender: bool,
    ) -> DirectionState {
        let (signing, sealing) = match direction {
            Direction::ToServer => (
                "Digest session key to client-to-server signing key magic constant",
                "Digest H(A1) to client-to-server sealing key magic constant",
            ),
            Direction::ToClient => (
                "Digest session key to server-to-client signing key magic constant",
                "Digest H(A1) to server-to-client sealing key magic constant",
            ),
        };
        let key = |hash: &[u8], constant: &str| -> [u8; 16] {
            let hashed = Md5::new().chain_update(hash).chain_update(constant);
            hashed.finalize().into()
        };
        let cipher = match protection {
            Protection::Integrity => None,
            Protection::Confidentiality(name) => {
                let sealing = key(&session_hash[..name.hash_bytes()], sealing);
                Some(Cipher::new(name, &sealing, is_sender))
            }
        };
        DirectionState {
            integrity_key: key(session_hash, signing),
            cipher,
            number: 0,
        }
    }

    /// Returns the checksum of a text in the next block.
    fn checksum(&self, text: &[u8]) -> [u8; CHECKSUM] {
        let all = self.mac(text).finalize().into_bytes();
        *all.first_chunk().expect("because MD5 has 16 bytes")
    }

    fn mac(&self, text: &[u8]) -> Hmac<Md5> {
        let mut mac =
            Hmac::<Md5>::new_from_slice(&self.integrity_key).expect("because HMAC takes keys of any length");
        mac.update(&self.number.to_be_bytes());
        mac.update(text);
        mac
    }

    /// Returns the number of bytes, and their value, that fill up the last block of the cipher behind a text and its checksum.
    fn padding(&self, text: usize) -> u8 {
        match &self.cipher {
            None | Some(Cipher::Rc4(_)) => 0,
            Some(_) => 8 - ((text + CHECKSUM) % 8) as u8,
        }
    }

    fn apply_cipher(&mut self, bytes: &mut [u8]) {
        if let Some(cipher) = &mut self.cipher {
            cipher.apply(bytes);
        }
    }

    /// Checks a block without its length; appends its text.
    fn open(&mut self, block: &mut [u8], text: &mut Vec<u8>) -> Result<(), BrokenBlock> {
        let (sealed, end) = block.split_at_mut_checked(block.len() - 6).ok_or(BrokenBlock)?;
        if end[..2] != VERSION || end[2..] != self.number.to_be_bytes() {
            return Err(BrokenBlock);
        }
        let is_padded = !matches!(self.cipher, None | Some(Cipher::Rc4(_)));
        if is_padded && sealed.len() % 8 != 0 {
            return Err(BrokenBlock);
        }
        self.apply_cipher(sealed);
        let (padded, checksum) = sealed.split_at(sealed.len() - CHECKSUM);
        let padding = match padded.last() {
            Some(padding @ 1..=8) if is_padded => usize::from(*padding),
            _ if is_padded => return Err(BrokenBlock),
            _ => 0,
        };
        let length = padded.len().checked_sub(padding).ok_or(BrokenBlock)?;
        let plain = &padded[..length];
        let is_right = self.mac(plain).verify_truncated_left(checksum).is_ok();
        if !is_right {
            return Err(BrokenBlock);
        }
        self.number = self.number.wrapping_add(1);
        text.extend_from_slice(plain);
        Ok(())
    }
}

/// A cipher of one direction; the state goes on from block to block.
enum Cipher {
    Rc4(Box<Rc4>),
    EncryptDes(cbc::Encryptor<Des>),
    DecryptDes(cbc::Decryptor<Des>),
    EncryptTripleDes(cbc::Encryptor<TdesEde2>),
    DecryptTripleDes(cbc::Decryptor<TdesEde2>),
}

impl Cipher {
    fn new(name: CipherName, key: &[u8; 16], encrypts: bool) -> Cipher {
        let why = "because the key has the cipher's length";
        let des = |from: usize| {
            let bits: &[u8; 7] = key[from..].first_chunk().expect("because 16 bytes hold two keys");
            des_key(bits)
        };
        let (one, two) = (des(0), [des(0), des(7)].concat());
        let iv = &key[8..];
        match (name, encrypts) {
            (CipherName::Rc4Short | CipherName::Rc4Medium | CipherName::Rc4, _) => {
                Cipher::Rc4(Box::new(Rc4::new_from_slice(key).expect(why)))
            }
            (CipherName::Des, true) => {
                Cipher::EncryptDes(cbc::Encryptor::new_from_slices(&one, iv).expect(why))
            }
            (CipherName::Des, false) => {
                Cipher::DecryptDes(cbc::Decryptor::new_from_slices(&one, iv).expect(why))
            }
            (CipherName::TripleDes, true) => {
                Cipher::EncryptTripleDes(cbc::Encryptor::new_from_slices(&two, iv).expect(why))
            }
            (CipherName::TripleDes, false) => {
                Cipher::DecryptTripleDes(cbc::Decryptor::new_from_slices(&two, iv).expect(why))
            }
        }
    }

    /// Encrypts or decrypts; the length must be one of whole blocks.
    fn apply(&mut self, bytes: &mut [u8]) {
        if let Cipher::Rc4(rc4) = self {
            return rc4.apply_keystream(bytes);
        }
        let (blocks, _) = Block::<Des>::slice_as_chunks_mut(bytes);
        match self {
            Cipher::EncryptDes(cipher) => cipher.encrypt_blocks(blocks),
            Cipher::DecryptDes(cipher) => cipher.decrypt_blocks(blocks),
            Cipher::EncryptTripleDes(cipher) => cipher.encrypt_blocks(blocks),
            Cipher::DecryptTripleDes(cipher) => cipher.decrypt_blocks(blocks),
            Cipher::Rc4(_) => {}
        }
    }
}

/// Spreads 56 bits over eight bytes: the lowest bit of each is a parity bit, which DES ignores.
fn des_key(bits: &[u8; 7]) -> [u8; 8] {
    let mut wide = [0; 8];
    wide[1..].copy_from_slice(bits);
    let all = u64::from_be_bytes(wide);
    std::array::from_fn(|i| (all >> (49 - 7 * i) << 1) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HASH: [u8; 16] = *b"0123456789abcdef";

    fn all() -> Vec<Protection> {
        let ciphers = CipherName::ALL.map(Protection::Confidentiality);
        [Protection::Integrity].into_iter().chain(ciphers).collect()
    }

    #[test]
    fn a_changed_lost_or_repeated_block_is_noticed() {
        for protection in all() {
            let mut sealed = Vec::new();
            Layer::new(protection, &HASH, true, 65536)
                .sealer
                .seal(b"( success ( ) ) ", &mut sealed);
            let open = |bytes: &[u8]| {
                let mut opener = Layer::new(protection, &HASH, false, 65536).opener;
                opener.open(bytes, &mut Vec::new())
            };
            assert_eq!(open(&sealed), Ok(()), "{protection:?}");
            for at in 4..sealed.len() {
                let mut changed = sealed.clone();
                changed[at] ^= 1;
                assert_eq!(open(&changed), Err(BrokenBlock), "{protection:?}, byte {at}");
            }
            assert_eq!(open(&[&sealed[..], &sealed].concat()), Err(BrokenBlock));
            assert_eq!(open(&[0, 0, 0, 3, 1, 2, 3]), Err(BrokenBlock));
            assert_eq!(open(&[1, 0, 0, 0]), Err(BrokenBlock));
        }
    }

    #[test]
    fn the_bits_of_a_key_keep_their_order() {
        assert_eq!(des_key(&[0xff; 7]), [0xfe; 8]);
        assert_eq!(des_key(&[0x80, 0, 0, 0, 0, 0, 1]), [0x80, 0, 0, 0, 0, 0, 0, 2]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn round_trip(texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..99), 0..9), cut in 1..40usize, longest in 0..100usize, is_server: bool) {
            for protection in all() {
                let mut layer = Layer::new(protection, &HASH, is_server, longest);
                let mut sealed = Vec::new();
                texts.iter().for_each(|text| layer.sealer.seal(text, &mut sealed));
                let mut opener = Layer::new(protection, &HASH, !is_server, 0).opener;
                let mut text = Vec::new();
                for part in sealed.chunks(cut) {
                    prop_assert_eq!(opener.open(part, &mut text), Ok(()));
                }
                prop_assert_eq!(&text, &texts.concat());
                prop_assert!(opener.pending.is_empty());
            }
        }

        #[test]
        fn any_bytes_are_taken(bytes: Vec<u8>) {
            for protection in all() {
                let mut opener = Layer::new(protection, &HASH, false, 0).opener;
                _ = opener.open(&bytes, &mut Vec::new());
            }
        }
    }
}
