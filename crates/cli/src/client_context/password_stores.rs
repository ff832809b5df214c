//! The programs that keep passwords, in place of the cache: the keyring of the desktop, KWallet and `gpg-agent`.
//!
//! `password-stores` names them in the order in which a new password is offered to them. The record of the cache then names the program
//! instead of the password, so a password is looked for only where its record says.

use std::env;
use std::path::{Path, PathBuf};

use base::Result;
use client::config::RuntimeConfig;
use client::config::credential_cache::CachedCredentials;
use client::config::gpg_agent::{AgentRequest, GpgAgent};
use client::config::kwallet::{KWallet, WalletAccess, WalletEntry};
use nix::unistd::Uid;
use ra::{Password, PasswordRequest};

use super::credentials::{Attempts, MOST_QUESTIONS, PASSTYPE, USERNAME, UserCredentials};
use super::keyring::{Keyring, KeyringItem};
use super::settings::home;

/// The stores of users who have chosen none.
const DEFAULT: &str = "gnome-keyring,kwallet,gpg-agent";

/// A program that keeps passwords.
#[derive(Clone, Debug)]
pub enum PasswordStore {
    /// The keyring of the desktop. It also keeps passphrases.
    Keyring,
    /// KWallet. It also keeps passphrases.
    KWallet(KWallet),
    /// `gpg-agent`.
    Agent(GpgAgent),
}

impl PasswordStore {
    /// Returns the stores that the configuration allows, the preferred one first. Names of others have no effect.
    ///
    /// # Errors
    /// `BAD_CONFIG_VALUE` for references that expand too far.
    pub fn configured(config: &RuntimeConfig) -> Result<Vec<PasswordStore>> {
        let names = config.config.text("auth", "password-stores")?;
        let names = names.as_deref().unwrap_or(DEFAULT).split([' ', ',']);
        let wallet = config.config.text("auth", "kwallet-wallet")?;
        let wallet = wallet.filter(|name| !name.is_empty());
        let stores = names.filter_map(|name| match name {
            "gnome-keyring" => Some(PasswordStore::Keyring),
            "kwallet" => Some(PasswordStore::KWallet(KWallet::new(
                session_bus(),
                wallet.clone(),
            ))),
            "gpg-agent" => Some(PasswordStore::Agent(gpg_agent())),
            _ => None,
        });
        Ok(stores.collect())
    }

    /// Returns the name that records of the cache have.
    fn name(&self) -> &'static str {
        match self {
            PasswordStore::Keyring => "gnome-keyring",
            PasswordStore::KWallet(_) => "kwallet",
            PasswordStore::Agent(_) => "gpg-agent",
        }
    }
}

impl UserCredentials {
    /// Returns the password that the store keeps that the cache names.
    pub(super) fn ask_store(
        &self,
        request: &PasswordRequest<'_>,
        attempts: &mut Attempts,
    ) -> Option<Password> {
        let (user, password) = self.options_for(request);
        let cached = self.cached_password(request.realm)?;
        let store = self.store_of(&cached).filter(|_| password.is_none())?;
        let user = user.or_else(|| cached.text(USERNAME))?.to_owned();
        let password = match store {
            PasswordStore::Agent(agent) => self.ask_agent(agent, request, &user, attempts)?,
            _ if attempts.store_requests > 0 => return None,
            _ => {
                attempts.store_requests += 1;
                self.stored_secret(store, &user, request.realm)?
            }
        };
        Some(Password { user, password })
    }

    fn ask_agent(
        &self,
        agent: &GpgAgent,
        request: &PasswordRequest<'_>,
        user: &str,
        attempts: &mut Attempts,
    ) -> Option<String> {
        let may_ask = self.prompter.is_interactive();
        let most = if may_ask { MOST_QUESTIONS } else { 1 };
        if attempts.store_requests >= most {
            return None;
        }
        let was_refused = attempts.store_requests > 0;
        attempts.store_requests += 1;
        if was_refused {
            agent.forget(request.realm);
        }
        agent.password(&AgentRequest {
            realm: request.realm,
            user,
            was_refused,
            may_ask,
        })
    }

    /// Offers a password to the stores. Returns the name of the one that keeps it.
    pub(super) fn keep_password(&self, realm: &str, password: &Password) -> Option<&'static str> {
        let is_kept = |store: &&PasswordStore| match store {
            // It asks for the password itself.
            PasswordStore::Agent(agent) => agent.is_there(),
            store => self.store_secret(store, &password.user, realm, &password.password),
        };
        let store = self.settings.stores.iter().find(is_kept)?;
        Some(store.name())
    }

    /// Returns the passphrase of a file that a store keeps, if the record of the cache names the store.
    pub(super) fn kept_passphrase(&self, cached: &CachedCredentials, file: &str) -> Option<String> {
        self.stored_secret(self.store_of(cached)?, "", file)
    }

    /// Offers a passphrase to the stores. Returns the name for the record if one keeps it.
    pub(super) fn keep_passphrase(&self, file: &str, passphrase: &str) -> Option<&'static str> {
        let is_kept = |store: &&PasswordStore| self.store_secret(store, "", file, passphrase);
        let store = self.settings.stores.iter().find(is_kept)?;
        Some(store.name())
    }

    /// Returns a secret of a user, who has no name for a passphrase, and a realm or a file.
    fn stored_secret(&self, store: &PasswordStore, user: &str, realm: &str) -> Option<String> {
        match store {
            PasswordStore::Keyring => self.keyring().secret(KeyringItem { user, domain: realm }),
            PasswordStore::KWallet(wallet) => {
                wallet.secret(WalletEntry { user, realm }, self.wallet_access())
            }
            PasswordStore::Agent(_) => None,
        }
    }

    /// Stores such a secret. Returns false if the store does not keep it.
    fn store_secret(&self, store: &PasswordStore, user: &str, realm: &str, secret: &str) -> bool {
        match store {
            PasswordStore::Keyring => {
                let item = KeyringItem { user, domain: realm };
                self.keyring().store(item, secret)
            }
            PasswordStore::KWallet(wallet) => {
                wallet.store(WalletEntry { user, realm }, secret, self.wallet_access())
            }
            PasswordStore::Agent(_) => false,
        }
    }

    /// Returns the store that a record names, if the configuration allows it.
    fn store_of(&self, cached: &CachedCredentials) -> Option<&PasswordStore> {
        let name = cached.text(PASSTYPE)?;
        self.settings.stores.iter().find(|store| store.name() == name)
    }

    fn keyring(&self) -> Keyring<'_> {
        Keyring {
            may_ask: self.prompter.is_interactive(),
            cancel: self.prompter.cancel(),
        }
    }

    fn wallet_access(&self) -> WalletAccess<'_> {
        WalletAccess {
            may_ask: self.prompter.is_interactive(),
            cancel: self.prompter.cancel(),
        }
    }
}

/// Returns the addresses of the session bus; empty if the environment has none.
fn session_bus() -> String {
    let value = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let folder = || value("XDG_RUNTIME_DIR").map(|folder| format!("unix:path={folder}/bus"));
    value("DBUS_SESSION_BUS_ADDRESS")
        .or_else(folder)
        .unwrap_or_default()
}

/// Returns how the environment says that `gpg-agent` is reached.
fn gpg_agent() -> GpgAgent {
    let value = |name| env::var(name).ok();
    let sockets = match value("GPG_AGENT_INFO") {
        // The rest are a number and a version of the protocol.
        Some(info) => vec![PathBuf::from(info.split(':').next().unwrap_or_default())],
        None => {
            let run = format!("run/user/{}/gnupg", Uid::current());
            let mut folders = vec![Path::new("/").join(&run), Path::new("/var").join(&run)];
            folders.extend(home().map(|home| home.join(".gnupg")));
            folders.iter().map(|folder| folder.join("S.gpg-agent")).collect()
        }
    };
    GpgAgent {
        sockets,
        terminal: value("GPG_TTY"),
        terminal_type: value("TERM"),
        locale: value("LC_ALL")
            .or_else(|| value("LC_CTYPE"))
            .or_else(|| value("LANG")),
        display: value("DISPLAY"),
    }
}
