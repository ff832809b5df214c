//! The list of all settings.

use super::cases;
use super::{Case, Held, Setting};
use crate::context::Home;
use crate::settings::cases::World;

/// All settings, in the order of Subversion's files.
pub(super) const SETTINGS: &[Setting] = &[
    elsewhere(
        "config",
        "auth",
        "password-stores",
        "agent::passwords_are_kept_by_an_agent",
    ),
    elsewhere(
        "config",
        "auth",
        "kwallet-wallet",
        "kwallet::passwords_are_kept_by_kwallet",
    ),
    meaningless(
        "config",
        "auth",
        "kwallet-svn-application-name-with-pid",
        "it changes no call of Subversion's client",
    ),
    elsewhere(
        "config",
        "auth",
        "ssl-client-cert-file-prompt",
        CLIENT_CERTIFICATE,
    ),
    case(
        "config",
        "auth",
        "store-passwords",
        &[None, Some("no")],
        cases::stored,
    ),
    case(
        "config",
        "auth",
        "store-auth-creds",
        &[None, Some("no")],
        cases::stored,
    ),
    case(
        "config",
        "helpers",
        "editor-cmd",
        &[Some("printf one; false"), Some("printf two; false")],
        cases::edited,
    ),
    case(
        "config",
        "helpers",
        "diff-cmd",
        &[None, Some("true"), Some("echo")],
        cases::compared,
    ),
    case(
        "config",
        "helpers",
        "diff-extensions",
        &[None, Some("-u -w")],
        cases::compared,
    ),
    meaningless("config", "helpers", "diff3-cmd", MERGES),
    meaningless("config", "helpers", "diff3-has-program-arg", MERGES),
    meaningless("config", "helpers", "merge-tool-cmd", MERGES),
    case(
        "config",
        "tunnels",
        "ssh",
        &[Some("sh tunnel.sh one"), Some("sh tunnel.sh two")],
        cases::tunnelled,
    ),
    case(
        "config",
        "miscellany",
        "global-ignores",
        &[None, Some("*.txt")],
        cases::imported,
    ),
    case(
        "config",
        "miscellany",
        "log-encoding",
        &[None, Some("latin1")],
        cases::message_of_a_file,
    ),
    meaningless(
        "config",
        "miscellany",
        "use-commit-times",
        "exported files have the times of their commits anyway",
    ),
    meaningless("config", "miscellany", "no-unlock", COMMITS),
    case(
        "config",
        "miscellany",
        "mime-types-file",
        &[None, Some("types")],
        cases::imported,
    ),
    meaningless("config", "miscellany", "preserved-conflict-file-exts", MERGES),
    case(
        "config",
        "miscellany",
        "enable-auto-props",
        &[None, Some("no"), Some("yes")],
        cases::imported,
    ),
    case(
        "config",
        "miscellany",
        "interactive-conflicts",
        &[None, Some("nonsense")],
        cases::any_work,
    ),
    case(
        "config",
        "miscellany",
        "memory-cache-size",
        &[None, Some("5"), Some("nonsense")],
        cases::any_work,
    ),
    case(
        "config",
        "miscellany",
        "diff-ignore-content-type",
        &[None, Some("no"), Some("yes")],
        cases::compared,
    ),
    case(
        "config",
        "auto-props",
        "*.txt",
        &[None, Some("a=b")],
        cases::imported_with_props,
    ),
    meaningless(
        "config",
        "working-copy",
        "exclusive-locking-clients",
        WORKING_COPIES,
    ),
    meaningless("config", "working-copy", "exclusive-locking", WORKING_COPIES),
    meaningless("config", "working-copy", "busy-timeout", WORKING_COPIES),
    elsewhere(
        "servers",
        "groups",
        "127.*",
        "context::groups_of_hosts_have_their_own_options",
    ),
    elsewhere("servers", "global", "http-proxy-host", ERRORS),
    elsewhere("servers", "global", "http-proxy-port", ERRORS),
    case(
        "servers",
        "global",
        "http-proxy-username",
        &[None, Some("alice")],
        cases::through_a_proxy,
    ),
    case(
        "servers",
        "global",
        "http-proxy-password",
        &[None, Some("secret")],
        cases::through_a_proxy,
    ),
    elsewhere("servers", "global", "http-proxy-exceptions", ERRORS),
    elsewhere(
        "servers",
        "global",
        "http-timeout",
        "settings/mod::a_silent_server_is_given_up",
    ),
    case(
        "servers",
        "global",
        "http-compression",
        &[Some("no"), Some("yes"), Some("auto")],
        cases::compressed,
    ),
    elsewhere(
        "servers",
        "global",
        "http-max-connections",
        "settings/mod::no_more_connections_are_made_than_the_user_allows",
    ),
    case(
        "servers",
        "global",
        "http-chunked-requests",
        &[Some("no"), Some("yes")],
        cases::framed,
    ),
    elsewhere("servers", "global", "http-auth-types", ERRORS),
    elsewhere("servers", "global", "ssl-authority-files", ERRORS),
    case(
        "servers",
        "global",
        "ssl-trust-default-ca",
        &[None, Some("yes"), Some("no")],
        cases::trusted_by_the_system,
    ),
    elsewhere("servers", "global", "ssl-client-cert-file", CLIENT_CERTIFICATE),
    elsewhere(
        "servers",
        "global",
        "ssl-client-cert-password",
        CLIENT_CERTIFICATE,
    ),
    meaningless(
        "servers",
        "global",
        "ssl-pkcs11-provider",
        "the library of HTTP has no such providers",
    ),
    meaningless("servers", "global", "http-library", "there is one library"),
    case(
        "servers",
        "global",
        "http-bulk-updates",
        &[Some("no"), Some("yes")],
        cases::fetched,
    ),
    case(
        "servers",
        "global",
        "store-passwords",
        &[None, Some("no")],
        cases::stored,
    ),
    case(
        "servers",
        "global",
        "store-plaintext-passwords",
        &[None, Some("no"), Some("yes")],
        cases::stored_if_allowed,
    ),
    elsewhere(
        "servers",
        "global",
        "store-ssl-client-cert-pp",
        CLIENT_CERTIFICATE,
    ),
    elsewhere(
        "servers",
        "global",
        "store-ssl-client-cert-pp-plaintext",
        CLIENT_CERTIFICATE,
    ),
    case(
        "servers",
        "global",
        "store-auth-creds",
        &[None, Some("no")],
        cases::stored,
    ),
    case(
        "servers",
        "global",
        "username",
        &[None, Some("bob")],
        cases::logged_in,
    ),
];

const MERGES: &str = "files are merged in working copies";
const COMMITS: &str = "only a commit from a working copy has locks to keep";
const WORKING_COPIES: &str = "about the database of working copies";
const CLIENT_CERTIFICATE: &str = "context::client_certificates_are_found_and_opened";
const ERRORS: &str = "context::options_of_servers_have_the_incumbents_errors";

const fn case(
    file: &'static str,
    section: &'static str,
    name: &'static str,
    values: &'static [Option<&'static str>],
    shows: fn(&World, &Home<'_>) -> String,
) -> Setting {
    let held = Held::By(Case { values, shows });
    Setting {
        file,
        section,
        name,
        held,
    }
}

const fn elsewhere(
    file: &'static str,
    section: &'static str,
    name: &'static str,
    test: &'static str,
) -> Setting {
    let held = Held::Elsewhere(test);
    Setting {
        file,
        section,
        name,
        held,
    }
}

const fn meaningless(
    file: &'static str,
    section: &'static str,
    name: &'static str,
    reason: &'static str,
) -> Setting {
    let held = Held::Meaningless(reason);
    Setting {
        file,
        section,
        name,
        held,
    }
}
