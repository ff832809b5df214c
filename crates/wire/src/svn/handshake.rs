//! How a conversation opens: greeting, client hello, authentication requests, repository information.

use base::with_substitutes;

use super::item::{Malformed, Tuple};
use super::write::Writer;

/// The capabilities of a peer; unknown words are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u32);

macro_rules! capabilities {
    ($($id:ident = $bit:literal, $word:literal, $text:literal;)*) => {
        impl Capabilities {
            $(#[doc = $text] pub const $id: Capabilities = Capabilities(1 << $bit);)*
        }
        const WORDS: &[(Capabilities, &str)] = &[$((Capabilities::$id, $word),)*];
    };
}

// In the order in which Subversion 1.14 lists them.
capabilities! {
    EDIT_PIPELINE = 0, "edit-pipeline", "Edits are streamed without an answer to each operation: mandatory.";
    SVNDIFF1 = 1, "svndiff1", "Reads svndiff version 1.";
    ACCEPTS_SVNDIFF2 = 2, "accepts-svndiff2", "Reads svndiff version 2.";
    ABSENT_ENTRIES = 3, "absent-entries", "Takes `absent-dir` and `absent-file`.";
    COMMIT_REVPROPS = 4, "commit-revprops", "`commit` honours its revision properties.";
    DEPTH = 5, "depth", "Understands depth words.";
    LOG_REVPROPS = 6, "log-revprops", "`log` selects revision properties.";
    ATOMIC_REVPROPS = 7, "atomic-revprops", "`change-rev-prop2` exists.";
    PARTIAL_REPLAY = 8, "partial-replay", "Replays a sub-directory.";
    INHERITED_PROPS = 9, "inherited-props", "`get-iprops` exists.";
    EPHEMERAL_TXNPROPS = 10, "ephemeral-txnprops", "`svn:txn-*` properties live on the transaction only.";
    FILE_REVS_REVERSE = 11, "file-revs-reverse", "`get-file-revs` may run backwards.";
    LIST = 12, "list", "`list` exists.";
    MERGEINFO = 13, "mergeinfo", "Tracks merges.";
}

impl Capabilities {
    /// Nothing.
    pub const NONE: Capabilities = Capabilities(0);

    /// The capabilities of a server of version 1.14; without compression it can neither read nor write svndiff 1 and
    /// 2.
    pub fn server(compression: bool) -> Self {
        let mut all = WORDS
            .iter()
            .filter(|(cap, _)| *cap != Self::MERGEINFO)
            .fold(Self::NONE, |all, (cap, _)| all.with(*cap));
        if !compression {
            all.0 &= !(Self::SVNDIFF1.0 | Self::ACCEPTS_SVNDIFF2.0);
        }
        all
    }

    /// The capabilities of a client of version 1.14.
    pub fn client() -> Self {
        [
            Self::EDIT_PIPELINE,
            Self::SVNDIFF1,
            Self::ACCEPTS_SVNDIFF2,
            Self::ABSENT_ENTRIES,
            Self::DEPTH,
            Self::MERGEINFO,
            Self::LOG_REVPROPS,
        ]
        .into_iter()
        .fold(Self::NONE, Self::with)
    }

    /// Both sets together.
    pub fn with(self, other: Capabilities) -> Self {
        Capabilities(self.0 | other.0)
    }

    /// True if all of `other` is in this set.
    pub fn has(self, other: Capabilities) -> bool {
        self.0 & other.0 == other.0
    }

    /// Reads a list of words.
    ///
    /// # Errors
    /// If an element is not a word.
    pub fn parse(mut list: Tuple<'_>) -> Result<Self, Malformed> {
        let mut all = Self::NONE;
        while !list.is_empty() {
            all = all.with(Self::from_word(list.word()?));
        }
        Ok(all)
    }

    /// Returns the capability of this name; none for an unknown word.
    pub fn from_word(word: &str) -> Self {
        WORDS
            .iter()
            .find(|(_, w)| *w == word)
            .map_or(Self::NONE, |(cap, _)| *cap)
    }

    /// The words of this set, in the incumbent's order.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        WORDS
            .iter()
            .filter(move |(cap, _)| self.has(*cap))
            .map(|(_, w)| *w)
    }

    /// Writes a list of words.
    pub fn write(self, out: &mut Writer<'_>) {
        out.open();
        for word in self.words() {
            out.word(word);
        }
        out.close();
    }

    /// The highest svndiff version that a peer with this set reads.
    pub fn svndiff_version(self) -> u8 {
        if self.has(Self::ACCEPTS_SVNDIFF2) {
            2
        } else if self.has(Self::SVNDIFF1) {
            1
        } else {
            0
        }
    }
}

/// The server's first words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Lowest protocol version.
    pub min_version: u64,
    /// Highest protocol version.
    pub max_version: u64,
    /// The server's capabilities.
    pub capabilities: Capabilities,
}

impl Greeting {
    /// The greeting of a server that speaks version 2.
    pub fn new(capabilities: Capabilities) -> Self {
        Greeting {
            min_version: 2,
            max_version: 2,
            capabilities,
        }
    }

    /// Writes the whole response.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.open().word("success").open();
        out.number(self.min_version).number(self.max_version).none();
        self.capabilities.write(&mut out);
        out.close().close();
    }

    /// Reads the parameters of the response.
    ///
    /// # Errors
    /// If they have another shape.
    pub fn parse(mut params: Tuple<'_>) -> Result<Self, Malformed> {
        let min_version = params.number()?;
        let max_version = params.number()?;
        params.list()?;
        let capabilities = Capabilities::parse(params.list()?)?;
        Ok(Greeting {
            min_version,
            max_version,
            capabilities,
        })
    }
}

/// The client's first words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Protocol version, 2.
    pub version: u64,
    /// The client's capabilities, as it sent them: unknown words are logged too.
    pub words: Vec<String>,
    /// The URL of the session.
    pub url: String,
    /// The client's library, as `SVN/1.14.2 (x86_64-pc-linux-gnu)`.
    pub ra_client: Option<String>,
    /// The client's own name.
    pub client: Option<String>,
}

impl Hello {
    /// The known ones of those words.
    pub fn capabilities(&self) -> Capabilities {
        self.words.iter().fold(Capabilities::NONE, |all, word| {
            all.with(Capabilities::from_word(word))
        })
    }

    /// Writes the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.open().number(self.version).open();
        for word in &self.words {
            out.word(word);
        }
        out.close().string(&self.url);
        if let Some(ra_client) = &self.ra_client {
            out.string(ra_client).maybe_string(self.client.as_ref());
        }
        out.close();
    }

    /// Reads the message.
    ///
    /// # Errors
    /// If it has another shape.
    pub fn parse(mut tuple: Tuple<'_>) -> Result<Self, Malformed> {
        let version = tuple.number()?;
        let mut list = tuple.list()?;
        let mut words = Vec::new();
        while !list.is_empty() {
            words.push(list.word()?.to_owned());
        }
        let url = with_substitutes(tuple.string()?).into_owned();
        let (mut ra_client, mut client) = (None, None);
        if !tuple.is_empty() {
            ra_client = Some(String::from_utf8_lossy(tuple.string()?).into_owned());
            if !tuple.is_empty() {
                client = tuple
                    .maybe_string()?
                    .map(|text| String::from_utf8_lossy(text).into_owned());
            }
        }
        Ok(Hello {
            version,
            words,
            url,
            ra_client,
            client,
        })
    }
}

/// The authentication that the server requires; with no mechanism there is nothing to do.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AuthRequest {
    /// Names of mechanisms, best first.
    pub mechanisms: Vec<String>,
    /// The authentication realm.
    pub realm: String,
}

impl AuthRequest {
    /// Writes the empty request, which precedes almost every response.
    pub fn write_trivial(out: &mut Vec<u8>) {
        out.extend_from_slice(b"( success ( ( ) 0: ) ) ");
    }

    /// Writes the whole response.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.open().word("success").open().open();
        for mechanism in &self.mechanisms {
            out.word(mechanism);
        }
        out.close().string(&self.realm).close().close();
    }

    /// Reads the parameters of the response.
    ///
    /// # Errors
    /// If they have another shape.
    pub fn parse(mut params: Tuple<'_>) -> Result<Self, Malformed> {
        let mut list = params.list()?;
        let mut mechanisms = Vec::new();
        while !list.is_empty() {
            mechanisms.push(list.word()?.to_owned());
        }
        let realm = params.text()?.to_owned();
        Ok(AuthRequest { mechanisms, realm })
    }
}

/// Which repository the session is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReposInfo {
    /// UUID of the repository.
    pub uuid: String,
    /// URL of its root, as the client would write it.
    pub root_url: String,
    /// Capabilities of this repository: `mergeinfo` or none.
    pub capabilities: Capabilities,
}

impl ReposInfo {
    /// Writes the whole response.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut out = Writer(out);
        out.open().word("success").open();
        out.string(&self.uuid).string(&self.root_url);
        self.capabilities.write(&mut out);
        out.close().close();
    }

    /// Reads the parameters of the response.
    ///
    /// # Errors
    /// If they have another shape.
    pub fn parse(mut params: Tuple<'_>) -> Result<Self, Malformed> {
        let uuid = params.text()?.to_owned();
        let root_url = params.text()?.to_owned();
        let capabilities = match params.is_empty() {
            true => Capabilities::NONE,
            false => Capabilities::parse(params.list()?)?,
        };
        Ok(ReposInfo {
            uuid,
            root_url,
            capabilities,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::Item;
    use super::*;

    const GREETING: &[u8] = b"( success ( 2 2 ( ) ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries commit-revprops depth log-revprops atomic-revprops partial-replay inherited-props ephemeral-txnprops file-revs-reverse list ) ) ) ";

    #[test]
    fn the_greeting_is_that_of_1_14() {
        let mut out = Vec::new();
        Greeting::new(Capabilities::server(true)).write(&mut out);
        assert_eq!(out, GREETING);
        let plain = Capabilities::server(false);
        assert!(!plain.has(Capabilities::SVNDIFF1) && plain.svndiff_version() == 0);
    }

    #[test]
    fn a_hello_may_end_early_or_say_more() {
        let read = |text: &'static [u8]| {
            Item::parse(text)
                .and_then(Item::list)
                .and_then(Hello::parse)
                .expect("a hello")
        };
        let stock = b"( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo log-revprops ) 32:svn://127.0.0.1:13691/repo/trunk 32:SVN/1.14.2 (x86_64-pc-linux-gnu) ( ) ) ";
        let hello = read(stock);
        assert_eq!(hello.capabilities(), Capabilities::client());
        assert_eq!(hello.capabilities().svndiff_version(), 2);
        assert_eq!(
            hello.ra_client.as_deref(),
            Some("SVN/1.14.2 (x86_64-pc-linux-gnu)")
        );
        let old = read(b"( 2 ( edit-pipeline what-is-this ) 9:svn://h/r ) ");
        assert_eq!((&old.ra_client, &old.client), (&None, &None));
        assert_eq!(old.capabilities(), Capabilities::EDIT_PIPELINE);
        assert_eq!(old.words, ["edit-pipeline", "what-is-this"]);
    }
}
