//! Passwords that KWallet keeps, the password store of KDE.
//!
//! Its program `kwalletd5` is called over the session bus. The folder, the names of entries, the name of the application and the order of
//! the calls are those of Subversion's client, observed with a monitor of the bus: each client finds what the other has stored, and the
//! user's permission for one holds for the other.
//!
//! The wallet asks the user itself for its key, in a window. If the user may not be asked, a closed wallet counts as none.
//!
//! Any failure is as if there were no wallet: there is no session bus or no KWallet, it is disabled, or the user refuses. What is absent:
//! the environment, which the caller reads.

use std::sync::Arc;

use base::Cancel;
use parking_lot::Mutex;

use super::dbus_message::{MethodCall, Value};
use super::session_bus::SessionBus;

/// The folder of Subversion's entries.
const FOLDER: &str = "Subversion";
/// The name under which the wallet knows the client.
const APPLICATION: &str = "subversion";
/// The window over which the wallet asks. There is none.
const WINDOW: i64 = 1;

/// A wallet, and the connection to it once it is there. Clones share the connection.
#[derive(Clone, Debug)]
pub struct KWallet {
    bus_addresses: String,
    wallet: Option<String>,
    session: Arc<Mutex<Option<WalletSession>>>,
}

/// The name of a secret.
#[derive(Clone, Copy, Debug)]
pub struct WalletEntry<'a> {
    /// The user; empty for a passphrase.
    pub user: &'a str,
    /// The realm of a server, or the path of a client certificate.
    pub realm: &'a str,
}

/// How long, and for what, the caller waits.
#[derive(Clone, Copy, Debug)]
pub struct WalletAccess<'a> {
    /// The user may be asked to open the wallet.
    pub may_ask: bool,
    /// Ends the wait.
    pub cancel: &'a Cancel,
}

impl KWallet {
    /// Returns a wallet. The addresses of the session bus have the form of `DBUS_SESSION_BUS_ADDRESS`; without a name, the wallet is the
    /// user's for secrets of networks.
    pub fn new(bus_addresses: String, wallet: Option<String>) -> KWallet {
        KWallet {
            bus_addresses,
            wallet,
            session: Arc::default(),
        }
    }

    /// Returns a secret; `None` if there is none. An entry that is no text is an empty secret.
    pub fn secret(&self, entry: WalletEntry<'_>, access: WalletAccess<'_>) -> Option<String> {
        let mut session = self.session.lock();
        let session = self.connected(&mut session, access.cancel)?;
        session.secret(entry.key(), access)
    }

    /// Stores a secret in place of an earlier one. Returns false if that failed.
    pub fn store(&self, entry: WalletEntry<'_>, secret: &str, access: WalletAccess<'_>) -> bool {
        let mut session = self.session.lock();
        let session = self.connected(&mut session, access.cancel);
        session.is_some_and(|session| session.store(entry.key(), secret, access).is_some())
    }

    fn connected<'s>(
        &self,
        session: &'s mut Option<WalletSession>,
        cancel: &Cancel,
    ) -> Option<&'s mut WalletSession> {
        if session.is_none() {
            *session = WalletSession::start(&self.bus_addresses, self.wallet.as_deref(), cancel);
        }
        session.as_mut()
    }
}

impl WalletEntry<'_> {
    fn key(&self) -> Value {
        Value::Text(format!("{}@{}", self.user, self.realm))
    }
}

#[derive(Debug)]
struct WalletSession {
    bus: SessionBus,
    wallet: Value,
    /// The number of the open wallet. The wallet stays open for the client until the connection ends, so the user is asked once.
    handle: Option<Value>,
}

impl WalletSession {
    fn start(bus_addresses: &str, wallet: Option<&str>, cancel: &Cancel) -> Option<WalletSession> {
        let mut session = WalletSession {
            bus: SessionBus::connect(bus_addresses, cancel)?,
            wallet: text(wallet.unwrap_or_default()),
            handle: None,
        };
        if wallet.is_none() {
            session.wallet = session.call("networkWallet", &[], cancel)?;
        }
        Some(session)
    }

    fn secret(&mut self, key: Value, access: WalletAccess<'_>) -> Option<String> {
        if !self.is_usable(access) {
            return None;
        }
        // The wallet knows that without being open.
        let entry = [self.wallet.clone(), text(FOLDER), key.clone()];
        if self.call("keyDoesNotExist", &entry, access.cancel)? != Value::Bool(false) {
            return None;
        }
        let entry = [self.open(access.cancel)?, text(FOLDER), key, text(APPLICATION)];
        match self.call("readPassword", &entry, access.cancel)? {
            Value::Text(secret) => Some(secret),
            _ => None,
        }
    }

    /// Stores a secret; `None` if that failed.
    fn store(&mut self, key: Value, secret: &str, access: WalletAccess<'_>) -> Option<()> {
        if !self.is_usable(access) {
            return None;
        }
        let handle = self.open(access.cancel)?;
        let folder = [handle.clone(), text(FOLDER), text(APPLICATION)];
        let is_there = self.call("hasFolder", &folder, access.cancel)? == Value::Bool(true);
        if !is_there && self.call("createFolder", &folder, access.cancel)? != Value::Bool(true) {
            return None;
        }
        let entry = [handle, text(FOLDER), key, text(secret), text(APPLICATION)];
        let result = self.call("writePassword", &entry, access.cancel)?;
        (result == Value::Int32(0)).then_some(())
    }

    /// True if no question is needed, or if the wallet may ask it.
    fn is_usable(&mut self, access: WalletAccess<'_>) -> bool {
        let wallet = [self.wallet.clone()];
        access.may_ask || self.call("isOpen", &wallet, access.cancel) == Some(Value::Bool(true))
    }

    /// Returns the number of the open wallet. The user may have to type its key.
    fn open(&mut self, cancel: &Cancel) -> Option<Value> {
        if self.handle.is_none() {
            let wallet = [self.wallet.clone(), Value::Int64(WINDOW), text(APPLICATION)];
            let handle = self.call("open", &wallet, cancel)?;
            self.handle = Some(handle).filter(|handle| matches!(handle, Value::Int32(0..)));
        }
        self.handle.clone()
    }

    fn call(&mut self, member: &str, arguments: &[Value], cancel: &Cancel) -> Option<Value> {
        let call = MethodCall {
            destination: "org.kde.kwalletd5",
            path: "/modules/kwalletd5",
            interface: "org.kde.KWallet",
            member,
            arguments,
        };
        self.bus.call(&call, cancel)
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}
