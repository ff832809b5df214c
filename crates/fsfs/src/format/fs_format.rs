//! The file `db/format`: format number, layout and addressing.

use super::decode_error;
use super::number::parse_decimal;

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
    /// The option at fault, for messages.
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

/// What `db/format` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FsFormat {
    /// 1 to 8, never 5.
    pub(crate) number: u32,
    /// Revisions in a shard; 0 for the linear layout.
    pub(crate) shard_size: u64,
    /// True if items are numbered and found by indexes; false if they are byte offsets.
    pub(crate) logical: bool,
}

impl FsFormat {
    /// What a repository without a `format` file has.
    pub(crate) const MISSING_FILE: FsFormat = FsFormat {
        number: 1,
        shard_size: 0,
        logical: false,
    };

    /// Newest format.
    pub(crate) const NEWEST: u32 = 8;

    /// Reads the file.
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
            number,
            shard_size: 0,
            logical: false,
        };
        for line in lines.take_while(|line| !line.is_empty()) {
            if line == b"layout linear" && number >= 3 {
                format.shard_size = 0;
            } else if let (Some(size), 3..) = (line.strip_prefix(b"layout sharded "), number) {
                let size = parse_decimal(size).filter(|&size| size <= i32::MAX as u64);
                format.shard_size = size.ok_or(FormatError::Option)?;
            } else if line == b"addressing physical" && number >= 7 {
                format.logical = false;
            } else if line == b"addressing logical" && number >= 7 {
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

    /// Appends the file's text.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut text = format!("{}\n", self.number);
        if self.number >= 3 {
            match self.shard_size {
                0 => text.push_str("layout linear\n"),
                size => text.push_str(&format!("layout sharded {size}\n")),
            }
        }
        if self.number >= 7 {
            text.push_str(if self.logical {
                "addressing logical\n"
            } else {
                "addressing physical\n"
            });
        }
        out.extend_from_slice(text.as_bytes());
    }

    /// Shards can be packed, `min-unpacked-rev` exists.
    pub(crate) fn has_packing(&self) -> bool {
        self.number >= 4
    }

    /// The file `uuid` has a second line.
    pub(crate) fn has_instance_id(&self) -> bool {
        self.number >= 7
    }

    /// Packed shards hold their revision properties packed too.
    pub(crate) fn has_packed_revprops(&self) -> bool {
        self.number >= 6
    }

    /// Packing has a lock of its own.
    pub(crate) fn has_pack_lock(&self) -> bool {
        self.number >= 7
    }

    /// Node-revisions count nodes with mergeinfo; node-ids and copy-ids carry the revision that made them.
    pub(crate) fn has_mergeinfo(&self) -> bool {
        self.number >= 3
    }

    /// Contents can be shared (`rep-cache.db`), node-revisions record what that takes.
    pub(crate) fn has_rep_sharing(&self) -> bool {
        self.number >= 4
    }

    /// Changed-path lists name the kind of node.
    pub(crate) fn has_kinds_in_changes(&self) -> bool {
        self.number >= 4
    }

    /// Changed-path lists tell whether mergeinfo was changed.
    pub(crate) fn has_mergeinfo_in_changes(&self) -> bool {
        self.number >= 7
    }

    /// Rep lines have `-` in place of what is missing.
    pub(crate) fn has_placeholders(&self) -> bool {
        self.number >= 8
    }

    /// Rep lines of property lists have the SHA-1 (later formats leave a gap).
    pub(crate) fn records_props_sha1(&self) -> bool {
        (4..8).contains(&self.number)
    }

    /// Proto-revisions live in `txn-protorevs/`, not in the transaction's directory.
    pub(crate) fn has_protorevs_dir(&self) -> bool {
        self.number >= 3
    }

    /// `current` has the next node ID and the next copy ID.
    pub(crate) fn has_ids_in_current(&self) -> bool {
        self.number < 3
    }

    /// There is a file `fsfs.conf`.
    pub(crate) fn has_conf(&self) -> bool {
        self.number >= 4
    }

    /// Revision files can be in shards.
    pub(crate) fn supports_shards(&self) -> bool {
        self.number >= 3
    }

    /// Items can be addressed by number.
    pub(crate) fn supports_logical_addressing(&self) -> bool {
        self.number >= 7
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
    fn what_is_unknown_is_refused() {
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
