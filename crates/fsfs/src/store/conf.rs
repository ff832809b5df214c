//! The options of `db/fsfs.conf`: how the filesystem stores new data.
//!
//! The file is read once, when the filesystem is opened. Formats below 4 ignore every option but `fail-stop`, whose
//! value must still be valid. The section `[io]` has an effect from format 7 on. Ignored options are not checked, so
//! a wrong value may stay unnoticed until an upgrade.

use base::ini::{Case, Ini};
use base::{Code, Error, Result, ResultExt as _};

use crate::format::back_end::PageSizes;
use crate::format::fs_format::{BackEnd, FsFormat};
use crate::store::disk::{Disk, is_missing};
use crate::store::layout::Layout;

/// The options with their effective values for the format of the filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FsConf {
    /// True if new texts and property lists are looked up in `rep-cache.db`.
    pub(crate) rep_sharing: bool,
    /// True if directories are stored as deltas.
    pub(crate) dir_deltification: bool,
    /// True if property lists are stored as deltas.
    pub(crate) props_deltification: bool,
    /// The greatest number of predecessors to go back for a delta base.
    pub(crate) max_deltification_walk: u64,
    /// The number of latest node-revisions whose delta base is the direct predecessor.
    pub(crate) max_linear_deltification: u64,
    /// The compression of new deltas.
    pub(crate) compression: Compression,
    /// The intended size of a pack file of revision properties, bytes.
    pub(crate) revprop_pack_size: u64,
    /// True if these pack files are compressed.
    pub(crate) compress_packed_revprops: bool,
    /// The unit of reading, bytes.
    pub(crate) block_size: u64,
    /// The number of entries in a page of new L2P indexes.
    pub(crate) l2p_page_size: u64,
    /// The bytes of items that a page of new P2L indexes covers.
    pub(crate) p2l_page_size: u64,
    /// True if each commit packs the complete shards.
    pub(crate) pack_after_commit: bool,
    /// True if a new revision is verified before it becomes current.
    pub(crate) verify_before_commit: bool,
}

/// The compression of the windows of new deltas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// svndiff version 0.
    None,
    /// svndiff version 2.
    Lz4,
    /// svndiff version 1, level 0 (all sections raw) to 9.
    Zlib(u8),
}

impl FsConf {
    /// Reads the file of the filesystem. A missing file counts as an empty one.
    pub(crate) fn read(disk: &dyn Disk, layout: &Layout, format: &FsFormat) -> Result<Self> {
        let path = layout.file(&format!("{}.conf", format.back_end.name()));
        let text = match disk.read_small(&path) {
            Ok(text) => text,
            Err(e) => match Error::io("Can't open file", &path, &e) {
                e if is_missing(&e) => return Ok(Self::for_format(format)),
                e => return Err(e),
            },
        };
        match Self::parse(&text, format) {
            Err(e) if e.code() == Code::MALFORMED_FILE => {
                Err(e).context(|| format!("Error while parsing config file: {}:", path.display()))
            }
            result => result,
        }
    }

    /// The values for an empty file.
    pub(crate) fn for_format(format: &FsFormat) -> Self {
        let compression = match (format.has_svndiff1(), format.has_svndiff2()) {
            (_, true) => Compression::Lz4,
            (true, false) => Compression::Zlib(DEFAULT_ZLIB_LEVEL),
            (false, false) => Compression::None,
        };
        FsConf {
            rep_sharing: format.has_rep_sharing(),
            dir_deltification: format.has_dir_and_props_deltas(),
            props_deltification: format.has_dir_and_props_deltas(),
            max_deltification_walk: 1023,
            max_linear_deltification: 16,
            compression,
            revprop_pack_size: if format.is_fsx() { 256 } else { 16 } * KILO,
            compress_packed_revprops: format.is_fsx(),
            block_size: 64 * KILO,
            l2p_page_size: 8192,
            p2l_page_size: 1024 * KILO,
            pack_after_commit: false,
            verify_before_commit: false,
        }
    }

    /// The page sizes of new indexes.
    pub(crate) fn page_sizes(&self) -> PageSizes {
        PageSizes {
            l2p: self.l2p_page_size,
            p2l: self.p2l_page_size,
        }
    }

    /// Parses the text of the file for a filesystem of this format.
    ///
    /// # Errors
    /// `MALFORMED_FILE`, `BAD_CONFIG_VALUE`, `BAD_PROPERTY`-like numbers as Subversion 1.14 gives them.
    pub(crate) fn parse(text: &[u8], format: &FsFormat) -> Result<Self> {
        let file = ConfFile(Ini::parse(text, Case::Ignored)?);
        let mut conf = Self::for_format(format);
        file.flag("caches", "fail-stop", false)?;
        if !format.has_conf() {
            return Ok(conf);
        }
        conf.rep_sharing = file.flag("rep-sharing", "enable-rep-sharing", true)?;
        conf.deltification(&file, format)?;
        if format.has_packed_revprops() {
            let compressed = file.flag("packed-revprops", "compress-packed-revprops", format.is_fsx())?;
            let default = match (format.back_end, compressed) {
                (BackEnd::Fsfs, false) => 16,
                (BackEnd::Fsfs, true) | (BackEnd::Fsx, false) => 64,
                (BackEnd::Fsx, true) => 256,
            };
            let size = file.number("packed-revprops", "revprop-pack-size", default)?;
            conf.compress_packed_revprops = compressed;
            conf.revprop_pack_size = u64::try_from(size).unwrap_or(0).saturating_mul(KILO);
        }
        if format.has_io_conf() {
            conf.block_size = file.power_of_two("block-size", 64, KILO)?;
            conf.l2p_page_size = file.power_of_two("l2p-page-size", 8192, 1)?;
            conf.p2l_page_size = file.power_of_two("p2l-page-size", 1024, KILO)?;
        }
        conf.pack_after_commit = file.flag("debug", "pack-after-commit", false)?;
        conf.verify_before_commit = file.flag("debug", "verify-before-commit", false)?;
        Ok(conf)
    }

    fn deltification(&mut self, file: &ConfFile, format: &FsFormat) -> Result<()> {
        const SECTION: &str = "deltification";
        if !format.is_fsx() {
            self.dir_deltification = file.flag(SECTION, "enable-dir-deltification", true)?;
            self.props_deltification = file.flag(SECTION, "enable-props-deltification", true)?;
        }
        let limit = |option, default| -> Result<u64> {
            let number = file.number(SECTION, option, default)?;
            Ok(u64::try_from(number).unwrap_or(0))
        };
        self.max_deltification_walk = limit("max-deltification-walk", 1023)?;
        self.max_linear_deltification = limit("max-linear-deltification", 16)?;
        let level = file.text(SECTION, "compression-level")?;
        match file.text(SECTION, "compression")?.filter(|_| !format.is_fsx()) {
            Some(_) if level.is_some() => {
                return Err(bad_value(
                    "The 'compression' and 'compression-level' config options are mutually exclusive",
                ));
            }
            Some(value) => self.compression = parse_compression(&value, format)?,
            None if level.is_some() => {
                let level = file.number(SECTION, "compression-level", i64::from(DEFAULT_ZLIB_LEVEL))?;
                self.compression = Compression::Zlib(level.clamp(0, 9) as u8);
            }
            None => {}
        }
        Ok(())
    }
}

fn parse_compression(value: &str, format: &FsFormat) -> Result<Compression> {
    let compression = match value {
        "none" => Compression::None,
        "lz4" => Compression::Lz4,
        "zlib" => Compression::Zlib(DEFAULT_ZLIB_LEVEL),
        _ => match value.strip_prefix("zlib-").map(str::as_bytes) {
            Some(&[digit @ b'1'..=b'9']) => Compression::Zlib(digit - b'0'),
            _ => {
                return Err(bad_value(format!(
                    "Invalid 'compression' value '{value}' in the config"
                )));
            }
        },
    };
    if compression == Compression::Lz4 && !format.has_svndiff2() {
        return Err(bad_value(
            "Compression type 'lz4' requires filesystem format 8 or higher",
        ));
    }
    Ok(compression)
}

/// The parsed file, with typed access and the incumbent's errors.
struct ConfFile(Ini);

impl ConfFile {
    fn flag(&self, section: &str, option: &str, default: bool) -> Result<bool> {
        self.0.flag(section, option, default)
    }

    fn text(&self, section: &str, option: &str) -> Result<Option<String>> {
        let value = self.0.get(section.as_bytes(), option.as_bytes())?;
        Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }

    fn number(&self, section: &str, option: &str, default: i64) -> Result<i64> {
        let Some(value) = self.text(section, option)? else {
            return Ok(default);
        };
        value.parse().map_err(|e: std::num::ParseIntError| {
            use std::num::IntErrorKind::{NegOverflow, PosOverflow};
            let message = match e.kind() {
                PosOverflow | NegOverflow => {
                    format!("Number '{value}' is out of range '[{}, {}]'", i64::MIN, i64::MAX)
                }
                _ => format!("Could not convert '{value}' into a number"),
            };
            Error::new(Code::INCORRECT_PARAMS, message)
        })
    }

    /// An `[io]` option, in units of `unit` bytes.
    fn power_of_two(&self, option: &str, default: i64, unit: u64) -> Result<u64> {
        let number = self.number("io", option, default)?;
        let refuse = |what: &str| bad_value(format!("{number} is {what}"));
        let units = u64::try_from(number).ok().filter(|n| *n > 0);
        let units = units.ok_or_else(|| refuse(&format!("too small for fsfs.conf setting '{option}'.")))?;
        let bytes = units.checked_mul(unit).filter(|n| *n <= i64::MAX as u64);
        let bytes = bytes.ok_or_else(|| refuse(&format!("too large for fsfs.conf setting '{option}'.")))?;
        if !units.is_power_of_two() {
            let what = format!("invalid for fsfs.conf setting '{option}' because it is not a power of 2.");
            return Err(refuse(&what));
        }
        Ok(bytes)
    }
}

fn bad_value(message: impl Into<String>) -> Error {
    Error::new(Code::BAD_CONFIG_VALUE, message)
}

const KILO: u64 = 1024;

const DEFAULT_ZLIB_LEVEL: u8 = 5;

#[cfg(test)]
#[expect(clippy::too_many_lines, reason = "a test reads best as one piece")]
mod tests {
    use super::*;

    fn format(number: u32) -> FsFormat {
        FsFormat {
            number,
            ..FsFormat::MISSING_FILE
        }
    }

    /// The errors of Subversion 1.14.2 for each of these, by format.
    #[test]
    fn bad_values_are_refused_like_the_incumbent_does() {
        let bad = Code::BAD_CONFIG_VALUE;
        for (text, least_format, code, message) in [
            (
                "[deltification]\nmax-deltification-walk = abc\n",
                4,
                Code(200004),
                "Could not convert 'abc' into a number",
            ),
            (
                "[deltification]\nmax-linear-deltification =\n",
                4,
                Code(200004),
                "Could not convert '' into a number",
            ),
            (
                "[deltification]\nmax-deltification-walk = 99999999999999999999999\n",
                4,
                Code(200004),
                "Number '99999999999999999999999' is out of range '[-9223372036854775808, 9223372036854775807]'",
            ),
            (
                "[deltification]\nenable-dir-deltification = maybe\n",
                4,
                bad,
                "Config error: invalid boolean value 'maybe' for '[deltification] enable-dir-deltification'",
            ),
            (
                "[deltification]\ncompression = ZLIB-3\n",
                4,
                bad,
                "Invalid 'compression' value 'ZLIB-3' in the config",
            ),
            (
                "[deltification]\ncompression = zlib-0\n",
                4,
                bad,
                "Invalid 'compression' value 'zlib-0' in the config",
            ),
            (
                "[deltification]\ncompression = zlib-10\n",
                4,
                bad,
                "Invalid 'compression' value 'zlib-10' in the config",
            ),
            (
                "[deltification]\ncompression-level = 3\ncompression = zlib\n",
                4,
                bad,
                "The 'compression' and 'compression-level' config options are mutually exclusive",
            ),
            (
                "[io]\nblock-size = 0\n",
                7,
                bad,
                "0 is too small for fsfs.conf setting 'block-size'.",
            ),
            (
                "[io]\nblock-size = -4\n",
                7,
                bad,
                "-4 is too small for fsfs.conf setting 'block-size'.",
            ),
            (
                "[IO]\nL2P-page-size: 3\n",
                7,
                bad,
                "3 is invalid for fsfs.conf setting 'l2p-page-size' because it is not a power of 2.",
            ),
            (
                "[io]\np2l-page-size = 9007199254740992\n",
                7,
                bad,
                "9007199254740992 is too large for fsfs.conf setting 'p2l-page-size'.",
            ),
            (
                "[caches]\nfail-stop = x\n",
                1,
                bad,
                "Config error: invalid boolean value 'x' for '[caches] fail-stop'",
            ),
            (
                "[io]\nnovalue\n",
                1,
                Code::MALFORMED_FILE,
                "line 2: Option must end with ':' or '='",
            ),
        ] {
            for number in [1, 2, 3, 4, 6, 7, 8] {
                match FsConf::parse(text.as_bytes(), &format(number)) {
                    Ok(_) => assert!(number < least_format, "format {number}: {text}"),
                    Err(e) => {
                        assert!(number >= least_format, "format {number}: {text}");
                        assert_eq!((e.code(), &*e.message()), (code, message));
                    }
                }
            }
        }
        let lz4 = b"[deltification]\ncompression = lz4\n";
        let is_good = |number| FsConf::parse(lz4, &format(number)).is_ok();
        assert!(!is_good(7) && is_good(8) && is_good(3));
    }

    #[test]
    fn defaults_follow_the_format() {
        let newest = format(8);
        assert_eq!(
            FsConf::parse(b"", &newest).expect("empty"),
            FsConf::for_format(&newest)
        );
        assert_eq!(FsConf::for_format(&format(7)).compression, Compression::Zlib(5));
        assert!(!FsConf::for_format(&format(3)).rep_sharing);
    }

    #[test]
    fn values_are_resolved() {
        let text = b"[deltification]\ncompression-level = 11\nmax-deltification-walk = -5\n\
            [packed-revprops]\ncompress-packed-revprops = YES\n[io]\nblock-size = 4\n";
        let conf = FsConf::parse(text, &format(7)).expect("good");
        assert_eq!(conf.compression, Compression::Zlib(9));
        assert_eq!(conf.max_deltification_walk, 0);
        assert_eq!((conf.revprop_pack_size, conf.block_size), (64 * 1024, 4096));
    }
}
