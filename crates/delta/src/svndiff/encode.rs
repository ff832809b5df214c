//! Writes documents and windows as Subversion 1.14 does, and frames stored windows for a receiver of another version.

use super::codec::{Codec, Section};
use super::instructions::Instructions;
use super::{EncodedWindow, SvndiffError, instructions, lz4_block, varint};
use crate::window::{Op, WINDOW_SIZE, Window};

/// Appends the four bytes that a document of `version` (0, 1 or 2) starts with.
pub fn write_header(version: u8, out: &mut Vec<u8>) {
    debug_assert!(version <= 2);
    out.extend_from_slice(b"SVN");
    out.push(version);
}

/// Appends `window` in the form of `version` (0, 1 or 2). `level` is zlib's, 1 to 9, and concerns version 1 only; with 0
/// sections are written as they are, which every reader of the version takes.
///
/// The window is not checked: one that would not pass [`Window::validate`] makes a document that no reader accepts.
pub fn write_window(window: &Window, version: u8, level: u8, codec: &mut Codec, out: &mut Vec<u8>) {
    let mut ops = std::mem::take(&mut codec.instructions);
    ops.clear();
    for op in &window.ops {
        instructions::write(*op, &mut ops);
    }
    let mut packed = std::mem::take(&mut codec.packed);
    packed.clear();
    codec.write_section(version, level, &ops, &mut packed);
    let split = packed.len();
    if version > 0 {
        codec.write_section(version, level, &window.new_data, &mut packed);
    }
    let new_data = if version > 0 {
        &packed[split..]
    } else {
        &window.new_data
    };
    let views = (window.source_offset, window.source_len, window.target_len);
    write_parts(views, &packed[..split], new_data, out);
    codec.instructions = ops;
    codec.packed = packed;
}

/// Appends a window of one insertion: what [`write_window`] makes of [`Window::insertion`], without the window.
/// `text` has at most [`WINDOW_SIZE`] bytes.
pub fn write_insertion(text: &[u8], version: u8, level: u8, codec: &mut Codec, out: &mut Vec<u8>) {
    debug_assert!(text.len() <= WINDOW_SIZE);
    let mut ops = std::mem::take(&mut codec.instructions);
    ops.clear();
    let len = text.len() as u32;
    if len > 0 {
        instructions::write(Op::New { len }, &mut ops);
    }
    let mut packed = std::mem::take(&mut codec.packed);
    packed.clear();
    codec.write_section(version, level, &ops, &mut packed);
    if version == 2 && level > 0 {
        // From the compressor's buffer directly to the output.
        write_block(len, &packed, codec.lz4_block(text).unwrap_or(text), out);
    } else {
        let split = packed.len();
        if version > 0 {
            codec.write_section(version, level, text, &mut packed);
        }
        let new_data = if version > 0 { &packed[split..] } else { text };
        write_parts((0, 0, len), &packed[..split], new_data, out);
    }
    codec.instructions = ops;
    codec.packed = packed;
}

/// Appends a window of version 2 that inserts `block`, which expands to `len` bytes, by the instruction section `packed`.
fn write_block(len: u32, packed: &[u8], block: &[u8], out: &mut Vec<u8>) {
    let mut prefix = Vec::new();
    varint::write(len.into(), &mut prefix);
    write_head((0, 0, len), packed.len(), prefix.len() + block.len(), out);
    out.extend_from_slice(packed);
    out.extend_from_slice(&prefix);
    out.extend_from_slice(block);
}

impl EncodedWindow<'_> {
    /// Appends a window of one insertion with the same result as this one, if this is such a window and its text is
    /// compressed as version 2 does it and as every reader accepts it: then nothing is compressed again. The output
    /// differs from that of [`write_insertion`] at most in how well it is compressed. The window's block must have
    /// been expanded before ([`EncodedWindow::apply`]). For any other window it returns false and appends nothing.
    pub fn write_packed_insertion(&self, codec: &mut Codec, out: &mut Vec<u8>) -> bool {
        let Ok((Section::Raw(ops), Section::Packed { len, payload })) = self.sections() else {
            return false;
        };
        let inserts = Instructions::single_insertion(ops) == Some(self.target_len);
        let fits = len == self.target_len as usize && payload.len() < len;
        if self.version != 2 || !inserts || !fits || !lz4_block::is_strict(payload, len) {
            return false;
        }
        let mut packed = std::mem::take(&mut codec.packed);
        packed.clear();
        let mut op = Vec::new();
        instructions::write(Op::New { len: self.target_len }, &mut op);
        codec.write_section(2, 1, &op, &mut packed);
        write_block(self.target_len, &packed, payload, out);
        codec.packed = packed;
        true
    }

    /// Appends this window in the form of `version` (0, 1 or 2), decoding only what must be: nothing for the same
    /// version, and no section that is stored raw.
    ///
    /// # Errors
    /// Any [`SvndiffError`] of a section; instructions are not looked into. `out` is then as long as before.
    pub fn write_as(
        &self,
        version: u8,
        level: u8,
        codec: &mut Codec,
        out: &mut Vec<u8>,
    ) -> Result<(), SvndiffError> {
        if version == self.version {
            out.extend_from_slice(self.raw);
            return Ok(());
        }
        let (ops, new_data) = self.sections()?;
        let mut packed = std::mem::take(&mut codec.packed);
        packed.clear();
        let result = self
            .rewrite(ops, version, level, codec, &mut packed)
            .and_then(|()| {
                let split = packed.len();
                self.rewrite(new_data, version, level, codec, &mut packed)?;
                let views = (self.source_offset, self.source_len, self.target_len);
                write_parts(views, &packed[..split], &packed[split..], out);
                Ok(())
            });
        codec.packed = packed;
        result
    }

    fn rewrite(
        &self,
        section: Section<'_>,
        version: u8,
        level: u8,
        codec: &mut Codec,
        out: &mut Vec<u8>,
    ) -> Result<(), SvndiffError> {
        match section {
            // Between 1 and 2 a raw section is one that is short or gains nothing: both versions allow it.
            Section::Raw(bytes) if self.version > 0 && version > 0 => {
                varint::write(bytes.len() as u64, out);
                out.extend_from_slice(bytes);
            }
            Section::Raw(bytes) => codec.write_section(version, level, bytes, out),
            Section::Packed { .. } => {
                let mut expanded = std::mem::take(&mut codec.new_data);
                expanded.clear();
                let result = codec.reading().0.expand(self.version, section, &mut expanded);
                if result.is_ok() {
                    codec.write_section(version, level, &expanded, out);
                }
                codec.new_data = expanded;
                result?;
            }
        }
        Ok(())
    }
}

fn write_parts(views: (u64, u32, u32), instructions: &[u8], new_data: &[u8], out: &mut Vec<u8>) {
    write_head(views, instructions.len(), new_data.len(), out);
    out.extend_from_slice(instructions);
    out.extend_from_slice(new_data);
}

/// Appends the header of a window with sections of these lengths, and reserves space for them.
fn write_head(
    (source_offset, source_len, target_len): (u64, u32, u32),
    instructions_len: usize,
    new_data_len: usize,
    out: &mut Vec<u8>,
) {
    out.reserve(super::WindowHeader::MAX_LEN + instructions_len + new_data_len);
    varint::write(source_offset, out);
    varint::write(source_len.into(), out);
    varint::write(target_len.into(), out);
    varint::write(instructions_len as u64, out);
    varint::write(new_data_len as u64, out);
}
