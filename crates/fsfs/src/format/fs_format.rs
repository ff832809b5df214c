//! The file `db/format`: the format number, and the options of layout and addressing.
//!
//! | line | formats | meaning |
//! |---|---|---|
//! | `<number>` | all | 1 to 8, never 5 |
//! | `layout linear` | 3 and later | all revisions in one directory; the default |
//! | `layout sharded <size>` | 3 and later | `<size>` revisions in a shard, 0 to 2^31 - 1; 0 is the linear layout |
//! | `addressing physical` | 7 and later | items are found by their offset; the default |
//! | `addressing logical` | 7 and later | items are found by a number; only with shards |
//!
//! The options may come in any order and end with an empty line or the file. A filesystem without the file has format
//! 1.
//!
//! The methods `has_…` of [`FsFormat`] are the one table of what each format has. No other module compares format
//! numbers to find out.

use super::decode_error;
use base::number::parse_decimal;

decode_error! {
    /// Why a `format` file is not usable.
    FormatError {
        FirstLine => BAD_VERSION_FILE_FORMAT, "Format file does not start with a format number";
        Option => BAD_VERSION_FILE_FORMAT, "Format file contains an invalid filesystem format option";
        Unsupported => FS_UNSUPPORTED_FORMAT, "Unsupported filesystem format";
        LogicalLinear => BAD_VERSION_FILE_FORMAT, "Format file specifies logical addressing for a linear layout";
    }
}

impl FormatError {
    /// The first invalid option in the text, for messages.
    pub(crate) fn line(self, text: &[u8]) -> String {
        let lines = text.split(|&b| b == b'\n').skip(1);
        let bad = lines.take_while(|line| !line.is_empty()).find(|line| {
            let known = [
                &b"layout linear"[..],
                b"addressing physical",
                b"addressing logical",
            ];
            !known.contains(line)
                && line
                    .strip_prefix(b"layout sharded ")
                    .and_then(parse_decimal)
                    .is_none_or(|n| n > i32::MAX as u64)
        });
        String::from_utf8_lossy(bad.unwrap_or_default()).into_owned()
    }
}

/// How the items of a filesystem are stored, according to `db/fs-type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackEnd {
    /// FSFS.
    #[default]
    Fsfs,
    /// FSX, the experimental one.
    Fsx,
}

impl BackEnd {
    /// The first line of `db/fs-type`.
    pub fn name(self) -> &'static str {
        match self {
            BackEnd::Fsfs => "fsfs",
            BackEnd::Fsx => "fsx",
        }
    }
}

/// The content of `db/format`, and of `db/fs-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FsFormat {
    pub(crate) back_end: BackEnd,
    /// FSFS: 1 to 8, never 5. FSX: 2.
    pub(crate) number: u32,
    /// The number of revisions in a shard; 0 for the linear layout.
    pub(crate) shard_size: u64,
    /// True with logical addressing, false with physical addressing.
    pub(crate) logical: bool,
}

impl FsFormat {
    /// The format of a filesystem without the file.
    pub(crate) const MISSING_FILE: FsFormat = FsFormat {
        back_end: BackEnd::Fsfs,
        number: 1,
        shard_size: 0,
        logical: false,
    };

    /// The newest format.
    pub(crate) const NEWEST: u32 = 8;

    /// Format 2 of FSX, the only one.
    pub(crate) fn fsx(shard_size: u64) -> Self {
        FsFormat {
            back_end: BackEnd::Fsx,
            number: 2,
            shard_size,
            logical: true,
        }
    }

    /// True for FSX.
    pub(crate) fn is_fsx(&self) -> bool {
        self.back_end == BackEnd::Fsx
    }

    /// The format of FSFS that has the same features.
    fn level(&self) -> u32 {
        match self.back_end {
            BackEnd::Fsfs => self.number,
            BackEnd::Fsx => 7,
        }
    }

    /// Parses the text of the file.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, FormatError> {
        let mut lines = text.split(|&b| b == b'\n');
        let number = lines
            .next()
            .and_then(parse_decimal)
            .ok_or(FormatError::FirstLine)?;
        let number = u32::try_from(number).map_err(|_| FormatError::Unsupported)?;
        if number == 0 || number == 5 || number > Self::NEWEST {
            return Err(FormatError::Unsupported);
        }
        let mut format = FsFormat {
            back_end: BackEnd::Fsfs,
            number,
            shard_size: 0,
            logical: false,
        };
        for line in lines.take_while(|line| !line.is_empty()) {
            if line == b"layout linear" && format.has_layout_option() {
                format.shard_size = 0;
            } else if let Some(size) = line.strip_prefix(b"layout sharded ")
                && format.has_layout_option()
            {
                let size = parse_decimal(size).filter(|&size| size <= i32::MAX as u64);
                format.shard_size = size.ok_or(FormatError::Option)?;
            } else if line == b"addressing physical" && format.has_addressing_option() {
                format.logical = false;
            } else if line == b"addressing logical" && format.has_addressing_option() {
                format.logical = true;
            } else {
                return Err(FormatError::Option);
            }
        }
        if format.logical && format.shard_size == 0 {
            return Err(FormatError::LogicalLinear);
        }
        Ok(format)
    }

    /// Appends the text of the file.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut text = format!("{}\n", self.number);
        if self.has_layout_option() {
            match self.shard_size {
                0 => text.push_str("layout linear\n"),
                size => text.push_str(&format!("layout sharded {size}\n")),
            }
        }
        if self.has_addressing_option() && !self.is_fsx() {
            text.push_str(if self.logical {
                "addressing logical\n"
            } else {
                "addressing physical\n"
            });
        }
        out.extend_from_slice(text.as_bytes());
    }

    /// `format` has a line with the layout.
    pub(crate) fn has_layout_option(&self) -> bool {
        self.level() >= 3
    }

    /// `format` has a line with the addressing.
    pub(crate) fn has_addressing_option(&self) -> bool {
        self.level() >= 7
    }

    /// Texts may be stored as svndiff version 1 (zlib).
    pub(crate) fn has_svndiff1(&self) -> bool {
        self.level() >= 2
    }

    /// Texts may be stored as svndiff version 2 (LZ4).
    pub(crate) fn has_svndiff2(&self) -> bool {
        self.level() >= 8
    }

    /// Directories and property lists may be stored as deltas.
    pub(crate) fn has_dir_and_props_deltas(&self) -> bool {
        self.level() >= 4
    }

    /// `fsfs.conf` has an effect.
    pub(crate) fn has_conf(&self) -> bool {
        self.level() >= 4
    }

    /// The section `[io]` of `fsfs.conf` has an effect.
    pub(crate) fn has_io_conf(&self) -> bool {
        self.level() >= 7
    }

    /// The rep-cache has schema 2, else schema 1.
    pub(crate) fn has_rep_cache_schema_2(&self) -> bool {
        self.level() >= 8
    }

    /// Data that a handle of this format writes is valid after an upgrade to a newer one. Before format 4, IDs and `current` have
    /// another form.
    pub(crate) fn has_upgradable_writes(&self) -> bool {
        self.level() >= 4
    }

    /// The changed-path list of an unpacked revision is the last item of its file, in the form of FSFS.
    pub(crate) fn has_list_at_end(&self) -> bool {
        self.logical && !self.is_fsx()
    }

    /// Shards can be packed, and `min-unpacked-rev` exists.
    pub(crate) fn has_packing(&self) -> bool {
        self.level() >= 4
    }

    /// The file `uuid` has a second line.
    pub(crate) fn has_instance_id(&self) -> bool {
        self.level() >= 7
    }

    /// Packed shards have packed revision properties, too.
    pub(crate) fn has_packed_revprops(&self) -> bool {
        self.level() >= 6
    }

    /// Packing has its own lock file, `pack-lock`.
    pub(crate) fn has_pack_lock(&self) -> bool {
        self.level() >= 7
    }

    /// Node-revisions count nodes with mergeinfo, and node-ids and copy-ids contain the revision that assigned them.
    pub(crate) fn has_mergeinfo(&self) -> bool {
        self.level() >= 3
    }

    /// Contents can be shared through `rep-cache.db`, and node-revisions record SHA-1 and uniquifier.
    pub(crate) fn has_rep_sharing(&self) -> bool {
        self.level() >= 4
    }

    /// Node-revisions record uniquifiers.
    pub(crate) fn has_uniquifiers(&self) -> bool {
        self.has_rep_sharing() && !self.is_fsx()
    }

    /// The file of a transaction's root has the same name in all transactions.
    pub(crate) fn has_fixed_root_name(&self) -> bool {
        !self.is_fsx()
    }

    /// Changed-path lists have the node kind.
    pub(crate) fn has_kinds_in_changes(&self) -> bool {
        self.level() >= 4
    }

    /// Changed-path lists have a flag for changed mergeinfo.
    pub(crate) fn has_mergeinfo_in_changes(&self) -> bool {
        self.level() >= 7
    }

    /// Rep lines have `-` in place of a missing SHA-1 or uniquifier.
    pub(crate) fn has_placeholders(&self) -> bool {
        self.level() >= 8
    }

    /// Rep lines of property lists have the SHA-1; format 8 writes `-`, FSX nothing.
    pub(crate) fn records_props_sha1(&self) -> bool {
        (4..8).contains(&self.level()) && !self.is_fsx()
    }

    /// Proto-revision files are in `txn-protorevs/`, not in the directory of the transaction, and `txn-current`
    /// exists.
    pub(crate) fn has_protorevs_dir(&self) -> bool {
        self.level() >= 3
    }

    /// `current` has the next node ID and the next copy ID.
    pub(crate) fn has_ids_in_current(&self) -> bool {
        self.level() < 3
    }

    /// Revision files can be in shards.
    pub(crate) fn supports_shards(&self) -> bool {
        self.level() >= 3
    }

    /// Items can be addressed by number.
    pub(crate) fn supports_logical_addressing(&self) -> bool {
        self.level() >= 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_files_round_trip() {
        for text in [
            "1\n",
            "2\n",
            "3\nlayout sharded 1000\n",
            "4\nlayout linear\n",
            "6\nlayout sharded 4\n",
            "7\nlayout sharded 1000\naddressing logical\n",
            "8\nlayout linear\naddressing physical\n",
        ] {
            let format = FsFormat::parse(text.as_bytes()).expect(text);
            let mut out = Vec::new();
            format.encode(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }

    #[test]
    fn the_format_of_fsx() {
        let mut out = Vec::new();
        FsFormat::fsx(7).encode(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), "2\nlayout sharded 7\n");
    }

    #[test]
    fn unknown_formats_and_options_are_refused() {
        for (text, error) in [
            ("", FormatError::FirstLine),
            ("x\n", FormatError::FirstLine),
            ("5\n", FormatError::Unsupported),
            ("9\nlayout linear\n", FormatError::Unsupported),
            ("2\nlayout linear\n", FormatError::Option),
            ("6\nlayout sharded 4\naddressing logical\n", FormatError::Option),
            ("8\nlayout sharded x\n", FormatError::Option),
            ("8\nlayout spiral\n", FormatError::Option),
            (
                "8\nlayout linear\naddressing logical\n",
                FormatError::LogicalLinear,
            ),
        ] {
            assert_eq!(FsFormat::parse(text.as_bytes()), Err(error), "{text:?}");
        }
    }
}
