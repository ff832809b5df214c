//! The kind of a node, and the depth of an operation.

/// Kind of a node, with the words that the protocols use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// No node.
    None,
    /// A file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link: only clients use it, a repository stores a file with `svn:special`.
    Symlink,
    /// The node exists, but its kind was not looked up.
    Unknown,
}

impl NodeKind {
    /// The word on the wire and in dump streams.
    pub fn word(self) -> &'static str {
        match self {
            NodeKind::None => "none",
            NodeKind::File => "file",
            NodeKind::Dir => "dir",
            NodeKind::Symlink => "symlink",
            NodeKind::Unknown => "unknown",
        }
    }

    /// Reads a word; `None` if it is no kind.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"none" => NodeKind::None,
            b"file" => NodeKind::File,
            b"dir" => NodeKind::Dir,
            b"symlink" => NodeKind::Symlink,
            b"unknown" => NodeKind::Unknown,
            _ => return None,
        })
    }
}

/// How far an operation descends. The order is Subversion's: each value includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Depth {
    /// Unspecified: the present depth applies.
    Unknown,
    /// The entry is deliberately absent.
    Exclude,
    /// The node alone.
    Empty,
    /// The node and its files.
    Files,
    /// The node and its entries, directories empty.
    Immediates,
    /// Everything below.
    Infinity,
}

impl Depth {
    /// The word on the wire and on command lines.
    pub fn word(self) -> &'static str {
        match self {
            Depth::Unknown => "unknown",
            Depth::Exclude => "exclude",
            Depth::Empty => "empty",
            Depth::Files => "files",
            Depth::Immediates => "immediates",
            Depth::Infinity => "infinity",
        }
    }

    /// Reads a word; an unrecognised one means [`Depth::Unknown`], as the incumbent reads it.
    pub fn from_word(word: &[u8]) -> Self {
        match word {
            b"exclude" => Depth::Exclude,
            b"empty" => Depth::Empty,
            b"files" => Depth::Files,
            b"immediates" => Depth::Immediates,
            b"infinity" => Depth::Infinity,
            _ => Depth::Unknown,
        }
    }

    /// The number that Subversion's messages print for it (-2 … 3).
    pub fn number(self) -> i32 {
        match self {
            Depth::Unknown => -2,
            Depth::Exclude => -1,
            Depth::Empty => 0,
            Depth::Files => 1,
            Depth::Immediates => 2,
            Depth::Infinity => 3,
        }
    }
}
