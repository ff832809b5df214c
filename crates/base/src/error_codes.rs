//! Every error number that Subversion 1.14 knows, with its symbolic name and default text.
//!
//! One table, because three readers need exactly the same facts: programs print `E<number>`, the wire carries the
//! number, and a chain link without a message of its own shows the default text. Numbers below
//! [`Code::FIRST_SVN`] are the operating system's `errno`. Source: the numbers of the protocol
//! specification, names and texts as the released libraries report them.

use std::fmt;

/// An error number: one of Subversion's, or a raw `errno` (below [`Code::FIRST_SVN`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub i32);

impl Code {
    /// The smallest number that belongs to Subversion; anything lower is the operating system's.
    pub const FIRST_SVN: i32 = 120_000;

    /// Returns the default text of this number: the one that a chain link without a message shows.
    pub fn text(self) -> String {
        if self.0 < Self::FIRST_SVN {
            return os_text(self.0);
        }
        match lookup(self) {
            Some((_, _, text)) => (*text).to_owned(),
            None => "Unknown error".to_owned(),
        }
    }

    /// Returns the symbolic name (`SVN_ERR_FS_NOT_FOUND`), if the number is in the table.
    pub fn name(self) -> Option<&'static str> {
        lookup(self).map(|(_, name, _)| *name)
    }

    /// True for a raw `errno`.
    pub fn is_os(self) -> bool {
        self.0 < Self::FIRST_SVN
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{:06}", self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name}({})", self.0),
            None => write!(f, "Code({})", self.0),
        }
    }
}

/// Returns the operating system's text for `errno`, without the number that std appends.
pub(crate) fn os_text(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    match text.rfind(" (os error ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

fn lookup(code: Code) -> Option<&'static (Code, &'static str, &'static str)> {
    TABLE
        .binary_search_by_key(&code, |row| row.0)
        .ok()
        .map(|at| &TABLE[at])
}

macro_rules! codes {
    ($($id:ident = $number:literal, $name:literal, $text:literal;)*) => {
        impl Code {
            $(#[doc = concat!("`", $name, "`: `", $text, "`.")] pub const $id: Code = Code($number);)*
        }
        static TABLE: &[(Code, &str, &str)] = &[$((Code($number), $name, $text),)*];
    };
}

codes! {
    WARNING = 120001, "SVN_WARNING", "Warning";
    BAD_CONTAINING_POOL = 125000, "SVN_ERR_BAD_CONTAINING_POOL", "Bad parent pool passed to svn_make_pool()";
    BAD_FILENAME = 125001, "SVN_ERR_BAD_FILENAME", "Bogus filename";
    BAD_URL = 125002, "SVN_ERR_BAD_URL", "Bogus URL";
    BAD_DATE = 125003, "SVN_ERR_BAD_DATE", "Bogus date";
    BAD_MIME_TYPE = 125004, "SVN_ERR_BAD_MIME_TYPE", "Bogus mime-type";
    BAD_PROPERTY_VALUE = 125005, "SVN_ERR_BAD_PROPERTY_VALUE", "Wrong or unexpected property value";
    BAD_VERSION_FILE_FORMAT = 125006, "SVN_ERR_BAD_VERSION_FILE_FORMAT", "Version file format not correct";
    BAD_RELATIVE_PATH = 125007, "SVN_ERR_BAD_RELATIVE_PATH", "Path is not an immediate child of the specified directory";
    BAD_UUID = 125008, "SVN_ERR_BAD_UUID", "Bogus UUID";
    BAD_CONFIG_VALUE = 125009, "SVN_ERR_BAD_CONFIG_VALUE", "Invalid configuration value";
    BAD_SERVER_SPECIFICATION = 125010, "SVN_ERR_BAD_SERVER_SPECIFICATION", "Bogus server specification";
    BAD_CHECKSUM_KIND = 125011, "SVN_ERR_BAD_CHECKSUM_KIND", "Unsupported checksum type";
    BAD_CHECKSUM_PARSE = 125012, "SVN_ERR_BAD_CHECKSUM_PARSE", "Invalid character in hex checksum";
    BAD_TOKEN = 125013, "SVN_ERR_BAD_TOKEN", "Unknown string value of token";
    BAD_CHANGELIST_NAME = 125014, "SVN_ERR_BAD_CHANGELIST_NAME", "Invalid changelist name";
    BAD_ATOMIC = 125015, "SVN_ERR_BAD_ATOMIC", "Invalid atomic";
    BAD_COMPRESSION_METHOD = 125016, "SVN_ERR_BAD_COMPRESSION_METHOD", "Invalid compression method";
    BAD_PROPERTY_VALUE_EOL = 125017, "SVN_ERR_BAD_PROPERTY_VALUE_EOL", "Unexpected line ending in the property value";
    XML_ATTRIB_NOT_FOUND = 130000, "SVN_ERR_XML_ATTRIB_NOT_FOUND", "No such XML tag attribute";
    XML_MISSING_ANCESTRY = 130001, "SVN_ERR_XML_MISSING_ANCESTRY", "<delta-pkg> is missing ancestry";
    XML_UNKNOWN_ENCODING = 130002, "SVN_ERR_XML_UNKNOWN_ENCODING", "Unrecognized binary data encoding; can't decode";
    XML_MALFORMED = 130003, "SVN_ERR_XML_MALFORMED", "XML data was not well-formed";
    XML_UNESCAPABLE_DATA = 130004, "SVN_ERR_XML_UNESCAPABLE_DATA", "Data cannot be safely XML-escaped";
    XML_UNEXPECTED_ELEMENT = 130005, "SVN_ERR_XML_UNEXPECTED_ELEMENT", "Unexpected XML element found";
    IO_INCONSISTENT_EOL = 135000, "SVN_ERR_IO_INCONSISTENT_EOL", "Inconsistent line ending style";
    IO_UNKNOWN_EOL = 135001, "SVN_ERR_IO_UNKNOWN_EOL", "Unrecognized line ending style";
    IO_CORRUPT_EOL = 135002, "SVN_ERR_IO_CORRUPT_EOL", "Line endings other than expected";
    IO_UNIQUE_NAMES_EXHAUSTED = 135003, "SVN_ERR_IO_UNIQUE_NAMES_EXHAUSTED", "Ran out of unique names";
    IO_PIPE_FRAME_ERROR = 135004, "SVN_ERR_IO_PIPE_FRAME_ERROR", "Framing error in pipe protocol";
    IO_PIPE_READ_ERROR = 135005, "SVN_ERR_IO_PIPE_READ_ERROR", "Read error in pipe";
    IO_WRITE_ERROR = 135006, "SVN_ERR_IO_WRITE_ERROR", "Write error";
    IO_PIPE_WRITE_ERROR = 135007, "SVN_ERR_IO_PIPE_WRITE_ERROR", "Write error in pipe";
    STREAM_UNEXPECTED_EOF = 140000, "SVN_ERR_STREAM_UNEXPECTED_EOF", "Unexpected EOF on stream";
    STREAM_MALFORMED_DATA = 140001, "SVN_ERR_STREAM_MALFORMED_DATA", "Malformed stream data";
    STREAM_UNRECOGNIZED_DATA = 140002, "SVN_ERR_STREAM_UNRECOGNIZED_DATA", "Unrecognized stream data";
    STREAM_SEEK_NOT_SUPPORTED = 140003, "SVN_ERR_STREAM_SEEK_NOT_SUPPORTED", "Stream doesn't support seeking";
    STREAM_NOT_SUPPORTED = 140004, "SVN_ERR_STREAM_NOT_SUPPORTED", "Stream doesn't support this capability";
    NODE_UNKNOWN_KIND = 145000, "SVN_ERR_NODE_UNKNOWN_KIND", "Unknown svn_node_kind";
    NODE_UNEXPECTED_KIND = 145001, "SVN_ERR_NODE_UNEXPECTED_KIND", "Unexpected node kind found";
    ENTRY_NOT_FOUND = 150000, "SVN_ERR_ENTRY_NOT_FOUND", "Can't find an entry";
    ENTRY_EXISTS = 150002, "SVN_ERR_ENTRY_EXISTS", "Entry already exists";
    ENTRY_MISSING_REVISION = 150003, "SVN_ERR_ENTRY_MISSING_REVISION", "Entry has no revision";
    ENTRY_MISSING_URL = 150004, "SVN_ERR_ENTRY_MISSING_URL", "Entry has no URL";
    ENTRY_ATTRIBUTE_INVALID = 150005, "SVN_ERR_ENTRY_ATTRIBUTE_INVALID", "Entry has an invalid attribute";
    ENTRY_FORBIDDEN = 150006, "SVN_ERR_ENTRY_FORBIDDEN", "Can't create an entry for a forbidden name";
    WC_OBSTRUCTED_UPDATE = 155000, "SVN_ERR_WC_OBSTRUCTED_UPDATE", "Obstructed update";
    WC_UNWIND_MISMATCH = 155001, "SVN_ERR_WC_UNWIND_MISMATCH", "Mismatch popping the WC unwind stack";
    WC_UNWIND_EMPTY = 155002, "SVN_ERR_WC_UNWIND_EMPTY", "Attempt to pop empty WC unwind stack";
    WC_UNWIND_NOT_EMPTY = 155003, "SVN_ERR_WC_UNWIND_NOT_EMPTY", "Attempt to unlock with non-empty unwind stack";
    WC_LOCKED = 155004, "SVN_ERR_WC_LOCKED", "Attempted to lock an already-locked dir";
    WC_NOT_LOCKED = 155005, "SVN_ERR_WC_NOT_LOCKED", "Working copy not locked; this is probably a bug, please report";
    WC_INVALID_LOCK = 155006, "SVN_ERR_WC_INVALID_LOCK", "Invalid lock";
    WC_NOT_WORKING_COPY = 155007, "SVN_ERR_WC_NOT_WORKING_COPY", "Path is not a working copy directory";
    WC_NOT_FILE = 155008, "SVN_ERR_WC_NOT_FILE", "Path is not a working copy file";
    WC_BAD_ADM_LOG = 155009, "SVN_ERR_WC_BAD_ADM_LOG", "Problem running log";
    WC_PATH_NOT_FOUND = 155010, "SVN_ERR_WC_PATH_NOT_FOUND", "Can't find a working copy path";
    WC_NOT_UP_TO_DATE = 155011, "SVN_ERR_WC_NOT_UP_TO_DATE", "Working copy is not up-to-date";
    WC_LEFT_LOCAL_MOD = 155012, "SVN_ERR_WC_LEFT_LOCAL_MOD", "Left locally modified or unversioned files";
    WC_SCHEDULE_CONFLICT = 155013, "SVN_ERR_WC_SCHEDULE_CONFLICT", "Unmergeable scheduling requested on an entry";
    WC_PATH_FOUND = 155014, "SVN_ERR_WC_PATH_FOUND", "Found a working copy path";
    WC_FOUND_CONFLICT = 155015, "SVN_ERR_WC_FOUND_CONFLICT", "A conflict in the working copy obstructs the current operation";
    WC_CORRUPT = 155016, "SVN_ERR_WC_CORRUPT", "Working copy is corrupt";
    WC_CORRUPT_TEXT_BASE = 155017, "SVN_ERR_WC_CORRUPT_TEXT_BASE", "Working copy text base is corrupt";
    WC_NODE_KIND_CHANGE = 155018, "SVN_ERR_WC_NODE_KIND_CHANGE", "Cannot change node kind";
    WC_INVALID_OP_ON_CWD = 155019, "SVN_ERR_WC_INVALID_OP_ON_CWD", "Invalid operation on the current working directory";
    WC_BAD_ADM_LOG_START = 155020, "SVN_ERR_WC_BAD_ADM_LOG_START", "Problem on first log entry in a working copy";
    WC_UNSUPPORTED_FORMAT = 155021, "SVN_ERR_WC_UNSUPPORTED_FORMAT", "Unsupported working copy format";
    WC_BAD_PATH = 155022, "SVN_ERR_WC_BAD_PATH", "Path syntax not supported in this context";
    WC_INVALID_SCHEDULE = 155023, "SVN_ERR_WC_INVALID_SCHEDULE", "Invalid schedule";
    WC_INVALID_RELOCATION = 155024, "SVN_ERR_WC_INVALID_RELOCATION", "Invalid relocation";
    WC_INVALID_SWITCH = 155025, "SVN_ERR_WC_INVALID_SWITCH", "Invalid switch";
    WC_MISMATCHED_CHANGELIST = 155026, "SVN_ERR_WC_MISMATCHED_CHANGELIST", "Changelist doesn't match";
    WC_CONFLICT_RESOLVER_FAILURE = 155027, "SVN_ERR_WC_CONFLICT_RESOLVER_FAILURE", "Conflict resolution failed";
    WC_COPYFROM_PATH_NOT_FOUND = 155028, "SVN_ERR_WC_COPYFROM_PATH_NOT_FOUND", "Failed to locate 'copyfrom' path in working copy";
    WC_CHANGELIST_MOVE = 155029, "SVN_ERR_WC_CHANGELIST_MOVE", "Moving a path from one changelist to another";
    WC_CANNOT_DELETE_FILE_EXTERNAL = 155030, "SVN_ERR_WC_CANNOT_DELETE_FILE_EXTERNAL", "Cannot delete a file external";
    WC_CANNOT_MOVE_FILE_EXTERNAL = 155031, "SVN_ERR_WC_CANNOT_MOVE_FILE_EXTERNAL", "Cannot move a file external";
    WC_DB_ERROR = 155032, "SVN_ERR_WC_DB_ERROR", "Something's amiss with the wc sqlite database";
    WC_MISSING = 155033, "SVN_ERR_WC_MISSING", "The working copy is missing";
    WC_NOT_SYMLINK = 155034, "SVN_ERR_WC_NOT_SYMLINK", "The specified node is not a symlink";
    WC_PATH_UNEXPECTED_STATUS = 155035, "SVN_ERR_WC_PATH_UNEXPECTED_STATUS", "The specified path has an unexpected status";
    WC_UPGRADE_REQUIRED = 155036, "SVN_ERR_WC_UPGRADE_REQUIRED", "The working copy needs to be upgraded";
    WC_CLEANUP_REQUIRED = 155037, "SVN_ERR_WC_CLEANUP_REQUIRED", "Previous operation has not finished; run 'cleanup' if it was interrupted";
    WC_INVALID_OPERATION_DEPTH = 155038, "SVN_ERR_WC_INVALID_OPERATION_DEPTH", "The operation cannot be performed with the specified depth";
    WC_PATH_ACCESS_DENIED = 155039, "SVN_ERR_WC_PATH_ACCESS_DENIED", "Couldn't open a working copy file because access was denied";
    WC_MIXED_REVISIONS = 155040, "SVN_ERR_WC_MIXED_REVISIONS", "Mixed-revision working copy was found but not expected";
    WC_DUPLICATE_EXTERNALS_TARGET = 155041, "SVN_ERR_WC_DUPLICATE_EXTERNALS_TARGET", "Duplicate targets in svn:externals property";
    FS_GENERAL = 160000, "SVN_ERR_FS_GENERAL", "General filesystem error";
    FS_CLEANUP = 160001, "SVN_ERR_FS_CLEANUP", "Error closing filesystem";
    FS_ALREADY_OPEN = 160002, "SVN_ERR_FS_ALREADY_OPEN", "Filesystem is already open";
    FS_NOT_OPEN = 160003, "SVN_ERR_FS_NOT_OPEN", "Filesystem is not open";
    FS_CORRUPT = 160004, "SVN_ERR_FS_CORRUPT", "Filesystem is corrupt";
    FS_PATH_SYNTAX = 160005, "SVN_ERR_FS_PATH_SYNTAX", "Invalid filesystem path syntax";
    FS_NO_SUCH_REVISION = 160006, "SVN_ERR_FS_NO_SUCH_REVISION", "Invalid filesystem revision number";
    FS_NO_SUCH_TRANSACTION = 160007, "SVN_ERR_FS_NO_SUCH_TRANSACTION", "Invalid filesystem transaction name";
    FS_NO_SUCH_ENTRY = 160008, "SVN_ERR_FS_NO_SUCH_ENTRY", "Filesystem directory has no such entry";
    FS_NO_SUCH_REPRESENTATION = 160009, "SVN_ERR_FS_NO_SUCH_REPRESENTATION", "Filesystem has no such representation";
    FS_NO_SUCH_STRING = 160010, "SVN_ERR_FS_NO_SUCH_STRING", "Filesystem has no such string";
    FS_NO_SUCH_COPY = 160011, "SVN_ERR_FS_NO_SUCH_COPY", "Filesystem has no such copy";
    FS_TRANSACTION_NOT_MUTABLE = 160012, "SVN_ERR_FS_TRANSACTION_NOT_MUTABLE", "The specified transaction is not mutable";
    FS_NOT_FOUND = 160013, "SVN_ERR_FS_NOT_FOUND", "Filesystem has no item";
    FS_ID_NOT_FOUND = 160014, "SVN_ERR_FS_ID_NOT_FOUND", "Filesystem has no such node-rev-id";
    FS_NOT_ID = 160015, "SVN_ERR_FS_NOT_ID", "String does not represent a node or node-rev-id";
    FS_NOT_DIRECTORY = 160016, "SVN_ERR_FS_NOT_DIRECTORY", "Name does not refer to a filesystem directory";
    FS_NOT_FILE = 160017, "SVN_ERR_FS_NOT_FILE", "Name does not refer to a filesystem file";
    FS_NOT_SINGLE_PATH_COMPONENT = 160018, "SVN_ERR_FS_NOT_SINGLE_PATH_COMPONENT", "Name is not a single path component";
    FS_NOT_MUTABLE = 160019, "SVN_ERR_FS_NOT_MUTABLE", "Attempt to change immutable filesystem node";
    FS_ALREADY_EXISTS = 160020, "SVN_ERR_FS_ALREADY_EXISTS", "Item already exists in filesystem";
    FS_ROOT_DIR = 160021, "SVN_ERR_FS_ROOT_DIR", "Attempt to remove or recreate fs root dir";
    FS_NOT_TXN_ROOT = 160022, "SVN_ERR_FS_NOT_TXN_ROOT", "Object is not a transaction root";
    FS_NOT_REVISION_ROOT = 160023, "SVN_ERR_FS_NOT_REVISION_ROOT", "Object is not a revision root";
    FS_CONFLICT = 160024, "SVN_ERR_FS_CONFLICT", "Merge conflict during commit";
    FS_REP_CHANGED = 160025, "SVN_ERR_FS_REP_CHANGED", "A representation vanished or changed between reads";
    FS_REP_NOT_MUTABLE = 160026, "SVN_ERR_FS_REP_NOT_MUTABLE", "Tried to change an immutable representation";
    FS_MALFORMED_SKEL = 160027, "SVN_ERR_FS_MALFORMED_SKEL", "Malformed skeleton data";
    FS_TXN_OUT_OF_DATE = 160028, "SVN_ERR_FS_TXN_OUT_OF_DATE", "Transaction is out of date";
    FS_BERKELEY_DB = 160029, "SVN_ERR_FS_BERKELEY_DB", "Berkeley DB error";
    FS_BERKELEY_DB_DEADLOCK = 160030, "SVN_ERR_FS_BERKELEY_DB_DEADLOCK", "Berkeley DB deadlock error";
    FS_TRANSACTION_DEAD = 160031, "SVN_ERR_FS_TRANSACTION_DEAD", "Transaction is dead";
    FS_TRANSACTION_NOT_DEAD = 160032, "SVN_ERR_FS_TRANSACTION_NOT_DEAD", "Transaction is not dead";
    FS_UNKNOWN_FS_TYPE = 160033, "SVN_ERR_FS_UNKNOWN_FS_TYPE", "Unknown FS type";
    FS_NO_USER = 160034, "SVN_ERR_FS_NO_USER", "No user associated with filesystem";
    FS_PATH_ALREADY_LOCKED = 160035, "SVN_ERR_FS_PATH_ALREADY_LOCKED", "Path is already locked";
    FS_PATH_NOT_LOCKED = 160036, "SVN_ERR_FS_PATH_NOT_LOCKED", "Path is not locked";
    FS_BAD_LOCK_TOKEN = 160037, "SVN_ERR_FS_BAD_LOCK_TOKEN", "Lock token is incorrect";
    FS_NO_LOCK_TOKEN = 160038, "SVN_ERR_FS_NO_LOCK_TOKEN", "No lock token provided";
    FS_LOCK_OWNER_MISMATCH = 160039, "SVN_ERR_FS_LOCK_OWNER_MISMATCH", "Username does not match lock owner";
    FS_NO_SUCH_LOCK = 160040, "SVN_ERR_FS_NO_SUCH_LOCK", "Filesystem has no such lock";
    FS_LOCK_EXPIRED = 160041, "SVN_ERR_FS_LOCK_EXPIRED", "Lock has expired";
    FS_OUT_OF_DATE = 160042, "SVN_ERR_FS_OUT_OF_DATE", "Item is out of date";
    FS_UNSUPPORTED_FORMAT = 160043, "SVN_ERR_FS_UNSUPPORTED_FORMAT", "Unsupported FS format";
    FS_REP_BEING_WRITTEN = 160044, "SVN_ERR_FS_REP_BEING_WRITTEN", "Representation is being written";
    FS_TXN_NAME_TOO_LONG = 160045, "SVN_ERR_FS_TXN_NAME_TOO_LONG", "The generated transaction name is too long";
    FS_NO_SUCH_NODE_ORIGIN = 160046, "SVN_ERR_FS_NO_SUCH_NODE_ORIGIN", "Filesystem has no such node origin record";
    FS_UNSUPPORTED_UPGRADE = 160047, "SVN_ERR_FS_UNSUPPORTED_UPGRADE", "Filesystem upgrade is not supported";
    FS_NO_SUCH_CHECKSUM_REP = 160048, "SVN_ERR_FS_NO_SUCH_CHECKSUM_REP", "Filesystem has no such checksum-representation index record";
    FS_PROP_BASEVALUE_MISMATCH = 160049, "SVN_ERR_FS_PROP_BASEVALUE_MISMATCH", "Property value in filesystem differs from the provided base value";
    FS_INCORRECT_EDITOR_COMPLETION = 160050, "SVN_ERR_FS_INCORRECT_EDITOR_COMPLETION", "The filesystem editor completion process was not followed";
    FS_PACKED_REVPROP_READ_FAILURE = 160051, "SVN_ERR_FS_PACKED_REVPROP_READ_FAILURE", "A packed revprop could not be read";
    FS_REVPROP_CACHE_INIT_FAILURE = 160052, "SVN_ERR_FS_REVPROP_CACHE_INIT_FAILURE", "Could not initialize the revprop caching infrastructure.";
    FS_MALFORMED_TXN_ID = 160053, "SVN_ERR_FS_MALFORMED_TXN_ID", "Malformed transaction ID string.";
    FS_INDEX_CORRUPTION = 160054, "SVN_ERR_FS_INDEX_CORRUPTION", "Corrupt index file.";
    FS_INDEX_REVISION = 160055, "SVN_ERR_FS_INDEX_REVISION", "Revision not covered by index.";
    FS_INDEX_OVERFLOW = 160056, "SVN_ERR_FS_INDEX_OVERFLOW", "Item index too large for this revision.";
    FS_CONTAINER_INDEX = 160057, "SVN_ERR_FS_CONTAINER_INDEX", "Container index out of range.";
    FS_INDEX_INCONSISTENT = 160058, "SVN_ERR_FS_INDEX_INCONSISTENT", "Index files are inconsistent.";
    FS_LOCK_OPERATION_FAILED = 160059, "SVN_ERR_FS_LOCK_OPERATION_FAILED", "Lock operation failed";
    FS_UNSUPPORTED_TYPE = 160060, "SVN_ERR_FS_UNSUPPORTED_TYPE", "Unsupported FS type";
    FS_CONTAINER_SIZE = 160061, "SVN_ERR_FS_CONTAINER_SIZE", "Container capacity exceeded.";
    FS_MALFORMED_NODEREV_ID = 160062, "SVN_ERR_FS_MALFORMED_NODEREV_ID", "Malformed node revision ID string.";
    FS_INVALID_GENERATION = 160063, "SVN_ERR_FS_INVALID_GENERATION", "Invalid generation number data.";
    FS_CORRUPT_REVPROP_MANIFEST = 160064, "SVN_ERR_FS_CORRUPT_REVPROP_MANIFEST", "Revprop manifest corrupt.";
    FS_CORRUPT_PROPLIST = 160065, "SVN_ERR_FS_CORRUPT_PROPLIST", "Property list is corrupt.";
    FS_AMBIGUOUS_CHECKSUM_REP = 160067, "SVN_ERR_FS_AMBIGUOUS_CHECKSUM_REP", "Content checksums supposedly match but content does not.";
    FS_UNRECOGNIZED_IOCTL_CODE = 160068, "SVN_ERR_FS_UNRECOGNIZED_IOCTL_CODE", "Unrecognized filesystem I/O control code";
    FS_REP_SHARING_NOT_ALLOWED = 160069, "SVN_ERR_FS_REP_SHARING_NOT_ALLOWED", "Rep-sharing is not allowed.";
    FS_REP_SHARING_NOT_SUPPORTED = 160070, "SVN_ERR_FS_REP_SHARING_NOT_SUPPORTED", "Rep-sharing is not supported.";
    REPOS_LOCKED = 165000, "SVN_ERR_REPOS_LOCKED", "The repository is locked, perhaps for db recovery";
    REPOS_HOOK_FAILURE = 165001, "SVN_ERR_REPOS_HOOK_FAILURE", "A repository hook failed";
    REPOS_BAD_ARGS = 165002, "SVN_ERR_REPOS_BAD_ARGS", "Incorrect arguments supplied";
    REPOS_NO_DATA_FOR_REPORT = 165003, "SVN_ERR_REPOS_NO_DATA_FOR_REPORT", "A report cannot be generated because no data was supplied";
    REPOS_BAD_REVISION_REPORT = 165004, "SVN_ERR_REPOS_BAD_REVISION_REPORT", "Bogus revision report";
    REPOS_UNSUPPORTED_VERSION = 165005, "SVN_ERR_REPOS_UNSUPPORTED_VERSION", "Unsupported repository version";
    REPOS_DISABLED_FEATURE = 165006, "SVN_ERR_REPOS_DISABLED_FEATURE", "Disabled repository feature";
    REPOS_POST_COMMIT_HOOK_FAILED = 165007, "SVN_ERR_REPOS_POST_COMMIT_HOOK_FAILED", "Error running post-commit hook";
    REPOS_POST_LOCK_HOOK_FAILED = 165008, "SVN_ERR_REPOS_POST_LOCK_HOOK_FAILED", "Error running post-lock hook";
    REPOS_POST_UNLOCK_HOOK_FAILED = 165009, "SVN_ERR_REPOS_POST_UNLOCK_HOOK_FAILED", "Error running post-unlock hook";
    REPOS_UNSUPPORTED_UPGRADE = 165010, "SVN_ERR_REPOS_UNSUPPORTED_UPGRADE", "Repository upgrade is not supported";
    RA_ILLEGAL_URL = 170000, "SVN_ERR_RA_ILLEGAL_URL", "Bad URL passed to RA layer";
    RA_NOT_AUTHORIZED = 170001, "SVN_ERR_RA_NOT_AUTHORIZED", "Authorization failed";
    RA_UNKNOWN_AUTH = 170002, "SVN_ERR_RA_UNKNOWN_AUTH", "Unknown authorization method";
    RA_NOT_IMPLEMENTED = 170003, "SVN_ERR_RA_NOT_IMPLEMENTED", "Repository access method not implemented";
    RA_OUT_OF_DATE = 170004, "SVN_ERR_RA_OUT_OF_DATE", "Item is out of date";
    RA_NO_REPOS_UUID = 170005, "SVN_ERR_RA_NO_REPOS_UUID", "Repository has no UUID";
    RA_UNSUPPORTED_ABI_VERSION = 170006, "SVN_ERR_RA_UNSUPPORTED_ABI_VERSION", "Unsupported RA plugin ABI version";
    RA_NOT_LOCKED = 170007, "SVN_ERR_RA_NOT_LOCKED", "Path is not locked";
    RA_PARTIAL_REPLAY_NOT_SUPPORTED = 170008, "SVN_ERR_RA_PARTIAL_REPLAY_NOT_SUPPORTED", "Server can only replay from the root of a repository";
    RA_UUID_MISMATCH = 170009, "SVN_ERR_RA_UUID_MISMATCH", "Repository UUID does not match expected UUID";
    RA_REPOS_ROOT_URL_MISMATCH = 170010, "SVN_ERR_RA_REPOS_ROOT_URL_MISMATCH", "Repository root URL does not match expected root URL";
    RA_SESSION_URL_MISMATCH = 170011, "SVN_ERR_RA_SESSION_URL_MISMATCH", "Session URL does not match expected session URL";
    RA_CANNOT_CREATE_TUNNEL = 170012, "SVN_ERR_RA_CANNOT_CREATE_TUNNEL", "Can't create tunnel";
    RA_CANNOT_CREATE_SESSION = 170013, "SVN_ERR_RA_CANNOT_CREATE_SESSION", "Can't create session";
    RA_DAV_SOCK_INIT = 175000, "SVN_ERR_RA_DAV_SOCK_INIT", "RA layer failed to init socket layer";
    RA_DAV_CREATING_REQUEST = 175001, "SVN_ERR_RA_DAV_CREATING_REQUEST", "RA layer failed to create HTTP request";
    RA_DAV_REQUEST_FAILED = 175002, "SVN_ERR_RA_DAV_REQUEST_FAILED", "RA layer request failed";
    RA_DAV_OPTIONS_REQ_FAILED = 175003, "SVN_ERR_RA_DAV_OPTIONS_REQ_FAILED", "RA layer didn't receive requested OPTIONS info";
    RA_DAV_PROPS_NOT_FOUND = 175004, "SVN_ERR_RA_DAV_PROPS_NOT_FOUND", "RA layer failed to fetch properties";
    RA_DAV_ALREADY_EXISTS = 175005, "SVN_ERR_RA_DAV_ALREADY_EXISTS", "RA layer file already exists";
    RA_DAV_INVALID_CONFIG_VALUE = 175006, "SVN_ERR_RA_DAV_INVALID_CONFIG_VALUE", "Invalid configuration value";
    RA_DAV_PATH_NOT_FOUND = 175007, "SVN_ERR_RA_DAV_PATH_NOT_FOUND", "HTTP Path Not Found";
    RA_DAV_PROPPATCH_FAILED = 175008, "SVN_ERR_RA_DAV_PROPPATCH_FAILED", "Failed to execute WebDAV PROPPATCH";
    RA_DAV_MALFORMED_DATA = 175009, "SVN_ERR_RA_DAV_MALFORMED_DATA", "Malformed network data";
    RA_DAV_RESPONSE_HEADER_BADNESS = 175010, "SVN_ERR_RA_DAV_RESPONSE_HEADER_BADNESS", "Unable to extract data from response header";
    RA_DAV_RELOCATED = 175011, "SVN_ERR_RA_DAV_RELOCATED", "Repository has been moved";
    RA_DAV_CONN_TIMEOUT = 175012, "SVN_ERR_RA_DAV_CONN_TIMEOUT", "Connection timed out";
    RA_DAV_FORBIDDEN = 175013, "SVN_ERR_RA_DAV_FORBIDDEN", "URL access forbidden for unknown reason";
    RA_DAV_PRECONDITION_FAILED = 175014, "SVN_ERR_RA_DAV_PRECONDITION_FAILED", "The server state conflicts with the requested preconditions";
    RA_DAV_METHOD_NOT_ALLOWED = 175015, "SVN_ERR_RA_DAV_METHOD_NOT_ALLOWED", "The URL doesn't allow the requested method";
    RA_LOCAL_REPOS_NOT_FOUND = 180000, "SVN_ERR_RA_LOCAL_REPOS_NOT_FOUND", "Couldn't find a repository";
    RA_LOCAL_REPOS_OPEN_FAILED = 180001, "SVN_ERR_RA_LOCAL_REPOS_OPEN_FAILED", "Couldn't open a repository";
    SVNDIFF_INVALID_HEADER = 185000, "SVN_ERR_SVNDIFF_INVALID_HEADER", "Svndiff data has invalid header";
    SVNDIFF_CORRUPT_WINDOW = 185001, "SVN_ERR_SVNDIFF_CORRUPT_WINDOW", "Svndiff data contains corrupt window";
    SVNDIFF_BACKWARD_VIEW = 185002, "SVN_ERR_SVNDIFF_BACKWARD_VIEW", "Svndiff data contains backward-sliding source view";
    SVNDIFF_INVALID_OPS = 185003, "SVN_ERR_SVNDIFF_INVALID_OPS", "Svndiff data contains invalid instruction";
    SVNDIFF_UNEXPECTED_END = 185004, "SVN_ERR_SVNDIFF_UNEXPECTED_END", "Svndiff data ends unexpectedly";
    SVNDIFF_INVALID_COMPRESSED_DATA = 185005, "SVN_ERR_SVNDIFF_INVALID_COMPRESSED_DATA", "Svndiff compressed data is invalid";
    APMOD_MISSING_PATH_TO_FS = 190000, "SVN_ERR_APMOD_MISSING_PATH_TO_FS", "Apache has no path to an SVN filesystem";
    APMOD_MALFORMED_URI = 190001, "SVN_ERR_APMOD_MALFORMED_URI", "Apache got a malformed URI";
    APMOD_ACTIVITY_NOT_FOUND = 190002, "SVN_ERR_APMOD_ACTIVITY_NOT_FOUND", "Activity not found";
    APMOD_BAD_BASELINE = 190003, "SVN_ERR_APMOD_BAD_BASELINE", "Baseline incorrect";
    APMOD_CONNECTION_ABORTED = 190004, "SVN_ERR_APMOD_CONNECTION_ABORTED", "Input/output error";
    CLIENT_VERSIONED_PATH_REQUIRED = 195000, "SVN_ERR_CLIENT_VERSIONED_PATH_REQUIRED", "A path under version control is needed for this operation";
    CLIENT_RA_ACCESS_REQUIRED = 195001, "SVN_ERR_CLIENT_RA_ACCESS_REQUIRED", "Repository access is needed for this operation";
    CLIENT_BAD_REVISION = 195002, "SVN_ERR_CLIENT_BAD_REVISION", "Bogus revision information given";
    CLIENT_DUPLICATE_COMMIT_URL = 195003, "SVN_ERR_CLIENT_DUPLICATE_COMMIT_URL", "Attempting to commit to a URL more than once";
    CLIENT_IS_BINARY_FILE = 195004, "SVN_ERR_CLIENT_IS_BINARY_FILE", "Operation does not apply to binary file";
    CLIENT_INVALID_EXTERNALS_DESCRIPTION = 195005, "SVN_ERR_CLIENT_INVALID_EXTERNALS_DESCRIPTION", "Format of an svn:externals property was invalid";
    CLIENT_MODIFIED = 195006, "SVN_ERR_CLIENT_MODIFIED", "Attempting restricted operation for modified resource";
    CLIENT_IS_DIRECTORY = 195007, "SVN_ERR_CLIENT_IS_DIRECTORY", "Operation does not apply to directory";
    CLIENT_REVISION_RANGE = 195008, "SVN_ERR_CLIENT_REVISION_RANGE", "Revision range is not allowed";
    CLIENT_INVALID_RELOCATION = 195009, "SVN_ERR_CLIENT_INVALID_RELOCATION", "Inter-repository relocation not allowed";
    CLIENT_REVISION_AUTHOR_CONTAINS_NEWLINE = 195010, "SVN_ERR_CLIENT_REVISION_AUTHOR_CONTAINS_NEWLINE", "Author name cannot contain a newline";
    CLIENT_PROPERTY_NAME = 195011, "SVN_ERR_CLIENT_PROPERTY_NAME", "Bad property name";
    CLIENT_UNRELATED_RESOURCES = 195012, "SVN_ERR_CLIENT_UNRELATED_RESOURCES", "Two versioned resources are unrelated";
    CLIENT_MISSING_LOCK_TOKEN = 195013, "SVN_ERR_CLIENT_MISSING_LOCK_TOKEN", "Path has no lock token";
    CLIENT_MULTIPLE_SOURCES_DISALLOWED = 195014, "SVN_ERR_CLIENT_MULTIPLE_SOURCES_DISALLOWED", "Operation does not support multiple sources";
    CLIENT_NO_VERSIONED_PARENT = 195015, "SVN_ERR_CLIENT_NO_VERSIONED_PARENT", "No versioned parent directories";
    CLIENT_NOT_READY_TO_MERGE = 195016, "SVN_ERR_CLIENT_NOT_READY_TO_MERGE", "Working copy and merge source not ready for reintegration";
    CLIENT_FILE_EXTERNAL_OVERWRITE_VERSIONED = 195017, "SVN_ERR_CLIENT_FILE_EXTERNAL_OVERWRITE_VERSIONED", "A file external cannot overwrite an existing versioned item";
    CLIENT_PATCH_BAD_STRIP_COUNT = 195018, "SVN_ERR_CLIENT_PATCH_BAD_STRIP_COUNT", "Invalid path component strip count specified";
    CLIENT_CYCLE_DETECTED = 195019, "SVN_ERR_CLIENT_CYCLE_DETECTED", "Detected a cycle while processing the operation";
    CLIENT_MERGE_UPDATE_REQUIRED = 195020, "SVN_ERR_CLIENT_MERGE_UPDATE_REQUIRED", "Working copy and merge source not ready for reintegration";
    CLIENT_INVALID_MERGEINFO_NO_MERGETRACKING = 195021, "SVN_ERR_CLIENT_INVALID_MERGEINFO_NO_MERGETRACKING", "Invalid mergeinfo detected in merge target";
    CLIENT_NO_LOCK_TOKEN = 195022, "SVN_ERR_CLIENT_NO_LOCK_TOKEN", "Can't perform this operation without a valid lock token";
    CLIENT_FORBIDDEN_BY_SERVER = 195023, "SVN_ERR_CLIENT_FORBIDDEN_BY_SERVER", "The operation is forbidden by the server";
    CLIENT_CONFLICT_OPTION_NOT_APPLICABLE = 195024, "SVN_ERR_CLIENT_CONFLICT_OPTION_NOT_APPLICABLE", "The conflict resolution option is not applicable";
    BASE = 200000, "SVN_ERR_BASE", "A problem occurred; see other errors for details";
    PLUGIN_LOAD_FAILURE = 200001, "SVN_ERR_PLUGIN_LOAD_FAILURE", "Failure loading plugin";
    MALFORMED_FILE = 200002, "SVN_ERR_MALFORMED_FILE", "Malformed file";
    INCOMPLETE_DATA = 200003, "SVN_ERR_INCOMPLETE_DATA", "Incomplete data";
    INCORRECT_PARAMS = 200004, "SVN_ERR_INCORRECT_PARAMS", "Incorrect parameters given";
    UNVERSIONED_RESOURCE = 200005, "SVN_ERR_UNVERSIONED_RESOURCE", "Tried a versioning operation on an unversioned resource";
    TEST_FAILED = 200006, "SVN_ERR_TEST_FAILED", "Test failed";
    UNSUPPORTED_FEATURE = 200007, "SVN_ERR_UNSUPPORTED_FEATURE", "Trying to use an unsupported feature";
    BAD_PROP_KIND = 200008, "SVN_ERR_BAD_PROP_KIND", "Unexpected or unknown property kind";
    ILLEGAL_TARGET = 200009, "SVN_ERR_ILLEGAL_TARGET", "Illegal target for the requested operation";
    DELTA_MD5_CHECKSUM_ABSENT = 200010, "SVN_ERR_DELTA_MD5_CHECKSUM_ABSENT", "MD5 checksum is missing";
    DIR_NOT_EMPTY = 200011, "SVN_ERR_DIR_NOT_EMPTY", "Directory needs to be empty but is not";
    EXTERNAL_PROGRAM = 200012, "SVN_ERR_EXTERNAL_PROGRAM", "Error calling external program";
    SWIG_PY_EXCEPTION_SET = 200013, "SVN_ERR_SWIG_PY_EXCEPTION_SET", "Python exception has been set with the error";
    CHECKSUM_MISMATCH = 200014, "SVN_ERR_CHECKSUM_MISMATCH", "A checksum mismatch occurred";
    CANCELLED = 200015, "SVN_ERR_CANCELLED", "The operation was interrupted";
    INVALID_DIFF_OPTION = 200016, "SVN_ERR_INVALID_DIFF_OPTION", "The specified diff option is not supported";
    PROPERTY_NOT_FOUND = 200017, "SVN_ERR_PROPERTY_NOT_FOUND", "Property not found";
    NO_AUTH_FILE_PATH = 200018, "SVN_ERR_NO_AUTH_FILE_PATH", "No auth file path available";
    VERSION_MISMATCH = 200019, "SVN_ERR_VERSION_MISMATCH", "Incompatible library version";
    MERGEINFO_PARSE_ERROR = 200020, "SVN_ERR_MERGEINFO_PARSE_ERROR", "Mergeinfo parse error";
    CEASE_INVOCATION = 200021, "SVN_ERR_CEASE_INVOCATION", "Cease invocation of this API";
    REVNUM_PARSE_FAILURE = 200022, "SVN_ERR_REVNUM_PARSE_FAILURE", "Error parsing revision number";
    ITER_BREAK = 200023, "SVN_ERR_ITER_BREAK", "Iteration terminated before completion";
    UNKNOWN_CHANGELIST = 200024, "SVN_ERR_UNKNOWN_CHANGELIST", "Unknown changelist";
    RESERVED_FILENAME_SPECIFIED = 200025, "SVN_ERR_RESERVED_FILENAME_SPECIFIED", "Reserved directory name in command line arguments";
    UNKNOWN_CAPABILITY = 200026, "SVN_ERR_UNKNOWN_CAPABILITY", "Inquiry about unknown capability";
    TEST_SKIPPED = 200027, "SVN_ERR_TEST_SKIPPED", "Test skipped";
    NO_APR_MEMCACHE = 200028, "SVN_ERR_NO_APR_MEMCACHE", "APR memcache library not available";
    ATOMIC_INIT_FAILURE = 200029, "SVN_ERR_ATOMIC_INIT_FAILURE", "Couldn't perform atomic initialization";
    SQLITE_ERROR = 200030, "SVN_ERR_SQLITE_ERROR", "SQLite error";
    SQLITE_READONLY = 200031, "SVN_ERR_SQLITE_READONLY", "Attempted to write to readonly SQLite db";
    SQLITE_UNSUPPORTED_SCHEMA = 200032, "SVN_ERR_SQLITE_UNSUPPORTED_SCHEMA", "Unsupported schema found in SQLite db";
    SQLITE_BUSY = 200033, "SVN_ERR_SQLITE_BUSY", "The SQLite db is busy";
    SQLITE_RESETTING_FOR_ROLLBACK = 200034, "SVN_ERR_SQLITE_RESETTING_FOR_ROLLBACK", "SQLite busy at transaction rollback; resetting all busy SQLite statements to allow rollback";
    SQLITE_CONSTRAINT = 200035, "SVN_ERR_SQLITE_CONSTRAINT", "Constraint error in SQLite db";
    TOO_MANY_MEMCACHED_SERVERS = 200036, "SVN_ERR_TOO_MANY_MEMCACHED_SERVERS", "Too many memcached servers configured";
    MALFORMED_VERSION_STRING = 200037, "SVN_ERR_MALFORMED_VERSION_STRING", "Failed to parse version number string";
    CORRUPTED_ATOMIC_STORAGE = 200038, "SVN_ERR_CORRUPTED_ATOMIC_STORAGE", "Atomic data storage is corrupt";
    UTF8PROC_ERROR = 200039, "SVN_ERR_UTF8PROC_ERROR", "utf8proc library error";
    UTF8_GLOB = 200040, "SVN_ERR_UTF8_GLOB", "Bad arguments to SQL operators GLOB or LIKE";
    CORRUPT_PACKED_DATA = 200041, "SVN_ERR_CORRUPT_PACKED_DATA", "Packed data stream is corrupt";
    COMPOSED_ERROR = 200042, "SVN_ERR_COMPOSED_ERROR", "Additional errors:";
    INVALID_INPUT = 200043, "SVN_ERR_INVALID_INPUT", "Parser error: invalid input";
    SQLITE_ROLLBACK_FAILED = 200044, "SVN_ERR_SQLITE_ROLLBACK_FAILED", "SQLite transaction rollback failed";
    LZ4_COMPRESSION_FAILED = 200045, "SVN_ERR_LZ4_COMPRESSION_FAILED", "LZ4 compression failed";
    LZ4_DECOMPRESSION_FAILED = 200046, "SVN_ERR_LZ4_DECOMPRESSION_FAILED", "LZ4 decompression failed";
    CANONICALIZATION_FAILED = 200047, "SVN_ERR_CANONICALIZATION_FAILED", "Could not canonicalize path or URI";
    CL_ARG_PARSING_ERROR = 205000, "SVN_ERR_CL_ARG_PARSING_ERROR", "Error parsing arguments";
    CL_INSUFFICIENT_ARGS = 205001, "SVN_ERR_CL_INSUFFICIENT_ARGS", "Not enough arguments provided";
    CL_MUTUALLY_EXCLUSIVE_ARGS = 205002, "SVN_ERR_CL_MUTUALLY_EXCLUSIVE_ARGS", "Mutually exclusive arguments specified";
    CL_ADM_DIR_RESERVED = 205003, "SVN_ERR_CL_ADM_DIR_RESERVED", "Attempted command in administrative dir";
    CL_LOG_MESSAGE_IS_VERSIONED_FILE = 205004, "SVN_ERR_CL_LOG_MESSAGE_IS_VERSIONED_FILE", "The log message file is under version control";
    CL_LOG_MESSAGE_IS_PATHNAME = 205005, "SVN_ERR_CL_LOG_MESSAGE_IS_PATHNAME", "The log message is a pathname";
    CL_COMMIT_IN_ADDED_DIR = 205006, "SVN_ERR_CL_COMMIT_IN_ADDED_DIR", "Committing in directory scheduled for addition";
    CL_NO_EXTERNAL_EDITOR = 205007, "SVN_ERR_CL_NO_EXTERNAL_EDITOR", "No external editor available";
    CL_BAD_LOG_MESSAGE = 205008, "SVN_ERR_CL_BAD_LOG_MESSAGE", "Something is wrong with the log message's contents";
    CL_UNNECESSARY_LOG_MESSAGE = 205009, "SVN_ERR_CL_UNNECESSARY_LOG_MESSAGE", "A log message was given where none was necessary";
    CL_NO_EXTERNAL_MERGE_TOOL = 205010, "SVN_ERR_CL_NO_EXTERNAL_MERGE_TOOL", "No external merge tool available";
    CL_ERROR_PROCESSING_EXTERNALS = 205011, "SVN_ERR_CL_ERROR_PROCESSING_EXTERNALS", "Failed processing one or more externals definitions";
    CL_REPOS_VERIFY_FAILED = 205012, "SVN_ERR_CL_REPOS_VERIFY_FAILED", "Repository verification failed";
    RA_SVN_CMD_ERR = 210000, "SVN_ERR_RA_SVN_CMD_ERR", "Special code for wrapping server errors to report to client";
    RA_SVN_UNKNOWN_CMD = 210001, "SVN_ERR_RA_SVN_UNKNOWN_CMD", "Unknown svn protocol command";
    RA_SVN_CONNECTION_CLOSED = 210002, "SVN_ERR_RA_SVN_CONNECTION_CLOSED", "Network connection closed unexpectedly";
    RA_SVN_IO_ERROR = 210003, "SVN_ERR_RA_SVN_IO_ERROR", "Network read/write error";
    RA_SVN_MALFORMED_DATA = 210004, "SVN_ERR_RA_SVN_MALFORMED_DATA", "Malformed network data";
    RA_SVN_REPOS_NOT_FOUND = 210005, "SVN_ERR_RA_SVN_REPOS_NOT_FOUND", "Couldn't find a repository";
    RA_SVN_BAD_VERSION = 210006, "SVN_ERR_RA_SVN_BAD_VERSION", "Client/server version mismatch";
    RA_SVN_NO_MECHANISMS = 210007, "SVN_ERR_RA_SVN_NO_MECHANISMS", "Cannot negotiate authentication mechanism";
    RA_SVN_EDIT_ABORTED = 210008, "SVN_ERR_RA_SVN_EDIT_ABORTED", "Editor drive was aborted";
    RA_SVN_REQUEST_SIZE = 210009, "SVN_ERR_RA_SVN_REQUEST_SIZE", "Client request too long";
    RA_SVN_RESPONSE_SIZE = 210010, "SVN_ERR_RA_SVN_RESPONSE_SIZE", "Server response too long";
    AUTHN_CREDS_UNAVAILABLE = 215000, "SVN_ERR_AUTHN_CREDS_UNAVAILABLE", "Credential data unavailable";
    AUTHN_NO_PROVIDER = 215001, "SVN_ERR_AUTHN_NO_PROVIDER", "No authentication provider available";
    AUTHN_PROVIDERS_EXHAUSTED = 215002, "SVN_ERR_AUTHN_PROVIDERS_EXHAUSTED", "All authentication providers exhausted";
    AUTHN_CREDS_NOT_SAVED = 215003, "SVN_ERR_AUTHN_CREDS_NOT_SAVED", "Credentials not saved";
    AUTHN_FAILED = 215004, "SVN_ERR_AUTHN_FAILED", "Authentication failed";
    AUTHZ_ROOT_UNREADABLE = 220000, "SVN_ERR_AUTHZ_ROOT_UNREADABLE", "Read access denied for root of edit";
    AUTHZ_UNREADABLE = 220001, "SVN_ERR_AUTHZ_UNREADABLE", "Item is not readable";
    AUTHZ_PARTIALLY_READABLE = 220002, "SVN_ERR_AUTHZ_PARTIALLY_READABLE", "Item is partially readable";
    AUTHZ_INVALID_CONFIG = 220003, "SVN_ERR_AUTHZ_INVALID_CONFIG", "Invalid authz configuration";
    AUTHZ_UNWRITABLE = 220004, "SVN_ERR_AUTHZ_UNWRITABLE", "Item is not writable";
    DIFF_DATASOURCE_MODIFIED = 225000, "SVN_ERR_DIFF_DATASOURCE_MODIFIED", "Diff data source modified unexpectedly";
    DIFF_UNEXPECTED_DATA = 225001, "SVN_ERR_DIFF_UNEXPECTED_DATA", "Diff data unexpected";
    RA_SERF_SSPI_INITIALISATION_FAILED = 230000, "SVN_ERR_RA_SERF_SSPI_INITIALISATION_FAILED", "Initialization of SSPI library failed";
    RA_SERF_SSL_CERT_UNTRUSTED = 230001, "SVN_ERR_RA_SERF_SSL_CERT_UNTRUSTED", "Server SSL certificate untrusted";
    RA_SERF_GSSAPI_INITIALISATION_FAILED = 230002, "SVN_ERR_RA_SERF_GSSAPI_INITIALISATION_FAILED", "Initialization of the GSSAPI context failed";
    RA_SERF_WRAPPED_ERROR = 230003, "SVN_ERR_RA_SERF_WRAPPED_ERROR", "While handling serf response:";
    RA_SERF_STREAM_BUCKET_READ_ERROR = 230004, "SVN_ERR_RA_SERF_STREAM_BUCKET_READ_ERROR", "Can't read from stream";
    ASSERTION_FAIL = 235000, "SVN_ERR_ASSERTION_FAIL", "Assertion failure";
    ASSERTION_ONLY_TRACING_LINKS = 235001, "SVN_ERR_ASSERTION_ONLY_TRACING_LINKS", "No non-tracing links found in the error chain";
    ASN1_OUT_OF_DATA = 240000, "SVN_ERR_ASN1_OUT_OF_DATA", "Unexpected end of ASN1 data";
    ASN1_UNEXPECTED_TAG = 240001, "SVN_ERR_ASN1_UNEXPECTED_TAG", "Unexpected ASN1 tag";
    ASN1_INVALID_LENGTH = 240002, "SVN_ERR_ASN1_INVALID_LENGTH", "Invalid ASN1 length";
    ASN1_LENGTH_MISMATCH = 240003, "SVN_ERR_ASN1_LENGTH_MISMATCH", "ASN1 length mismatch";
    ASN1_INVALID_DATA = 240004, "SVN_ERR_ASN1_INVALID_DATA", "Invalid ASN1 data";
    X509_FEATURE_UNAVAILABLE = 240005, "SVN_ERR_X509_FEATURE_UNAVAILABLE", "Unavailable X509 feature";
    X509_CERT_INVALID_PEM = 240006, "SVN_ERR_X509_CERT_INVALID_PEM", "Invalid PEM certificate";
    X509_CERT_INVALID_FORMAT = 240007, "SVN_ERR_X509_CERT_INVALID_FORMAT", "Invalid certificate format";
    X509_CERT_INVALID_VERSION = 240008, "SVN_ERR_X509_CERT_INVALID_VERSION", "Invalid certificate version";
    X509_CERT_INVALID_SERIAL = 240009, "SVN_ERR_X509_CERT_INVALID_SERIAL", "Invalid certificate serial number";
    X509_CERT_INVALID_ALG = 240010, "SVN_ERR_X509_CERT_INVALID_ALG", "Found invalid algorithm in certificate";
    X509_CERT_INVALID_NAME = 240011, "SVN_ERR_X509_CERT_INVALID_NAME", "Found invalid name in certificate";
    X509_CERT_INVALID_DATE = 240012, "SVN_ERR_X509_CERT_INVALID_DATE", "Found invalid date in certificate";
    X509_CERT_INVALID_PUBKEY = 240013, "SVN_ERR_X509_CERT_INVALID_PUBKEY", "Found invalid public key in certificate";
    X509_CERT_INVALID_SIGNATURE = 240014, "SVN_ERR_X509_CERT_INVALID_SIGNATURE", "Found invalid signature in certificate";
    X509_CERT_INVALID_EXTENSIONS = 240015, "SVN_ERR_X509_CERT_INVALID_EXTENSIONS", "Found invalid extensions in certificate";
    X509_CERT_UNKNOWN_VERSION = 240016, "SVN_ERR_X509_CERT_UNKNOWN_VERSION", "Unknown certificate version";
    X509_CERT_UNKNOWN_PK_ALG = 240017, "SVN_ERR_X509_CERT_UNKNOWN_PK_ALG", "Certificate uses unknown public key algorithm";
    X509_CERT_SIG_MISMATCH = 240018, "SVN_ERR_X509_CERT_SIG_MISMATCH", "Certificate signature mismatch";
    X509_CERT_VERIFY_FAILED = 240019, "SVN_ERR_X509_CERT_VERIFY_FAILED", "Certificate verification failed";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_bisection_finds_every_row() {
        assert!(TABLE.windows(2).all(|w| w[0].0 < w[1].0));
        assert!(TABLE.iter().all(|row| row.0.text() == row.2));
    }

    #[test]
    fn operating_system_numbers_have_plain_texts() {
        assert_eq!(Code(2).text(), "No such file or directory");
        assert_eq!(Code(2).to_string(), "E000002");
    }
}
