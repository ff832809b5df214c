//! Lists of Apache's directives: translated ones, those without effect on clients, and those without a counterpart,
//! with reasons.

/// Directives that are translated.
const TRANSLATED: &[&str] = &[
    "DAV",
    "SVNPath",
    "SVNParentPath",
    "SVNListParentPath",
    "SVNReposName",
    "SVNSpecialURI",
    "SVNIndexXSLT",
    "SVNAutoversioning",
    "SVNPathAuthz",
    "SVNMasterURI",
    "SVNMasterVersion",
    "SVNActivitiesDB",
    "SVNAllowBulkUpdates",
    "SVNAdvertiseV2Protocol",
    "SVNInMemoryCacheSize",
    "SVNCompressionLevel",
    "SVNHooksEnv",
    "AuthzSVNAccessFile",
    "AuthzSVNReposRelativeAccessFile",
    "AuthzSVNGroupsFile",
    "AuthzSVNAnonymous",
    "AuthzSVNNoAuthWhenAnonymousAllowed",
    "AuthzForceUsernameCase",
    "Require",
    "Satisfy",
    "Order",
    "Allow",
    "Deny",
    "AuthType",
    "AuthName",
    "AuthUserFile",
    "AuthGroupFile",
    "DontDoThatConfigFile",
    "DontDoThatDisallowReplay",
    "Redirect",
    "RedirectPermanent",
    "RedirectTemp",
    "RedirectMatch",
    "SSLCARevocationFile",
    "SSLCARevocationCheck",
    "AuthBasicProvider",
    "AuthDigestProvider",
    "AuthLDAPURL",
    "AuthLDAPBindDN",
    "AuthLDAPBindPassword",
    "AuthLDAPGroupAttribute",
    "AuthLDAPGroupAttributeIsDN",
    "LDAPTimeout",
    "LDAPConnectionTimeout",
    "LDAPTrustedGlobalCert",
    "LDAPVerifyServerCert",
    "LimitXMLRequestBody",
    "LimitRequestBody",
    "LimitRequestFields",
    "KeepAliveTimeout",
    "Timeout",
    "SSLEngine",
    "SSLCertificateFile",
    "SSLCertificateKeyFile",
    "SSLCACertificateFile",
    "SSLVerifyClient",
    "SSLProtocol",
    "SSLUserName",
    "CustomLog",
    "TransferLog",
    "ErrorLog",
    "LogLevel",
    "Listen",
];

/// Directives that have no effect on Subversion clients.
const HARMLESS: &[&str] = &[
    // The reader of the files adds remarks about these.
    "If",
    "ElseIf",
    "Else",
    "Options",
    "AllowOverride",
    "AuthzSVNAuthoritative",
    "AuthBasicAuthoritative",
    "AuthzLDAPAuthoritative",
    "AuthMerging",
    "AuthDigestDomain",
    "AuthDigestAlgorithm",
    "AuthDigestQop",
    "AuthDigestNonceLifetime",
    "ServerSignature",
    "DavMinTimeout",
    "KeepAlive",
    "MaxKeepAliveRequests",
    "ModMimeUsePathInfo",
    "DirectoryIndex",
    "DirectorySlash",
    "SetEnv",
    "PassEnv",
    "SSLOptions",
    "SSLSessionCache",
    "SSLHonorCipherOrder",
    "AddDefaultCharset",
    "SetOutputFilter",
    "AddOutputFilterByType",
    "DeflateCompressionLevel",
    "BrowserMatch",
    "BrowserMatchNoCase",
    "CacheDisable",
    "LogFormat",
    "AuthFormLoginRequiredLocation",
];

/// Directives without a counterpart, with the reason.
const REASONS: &[(&str, &str)] = &[
    (
        "SVNCacheTextDeltas",
        "there is one cache for everything; nothing is gained by leaving things out",
    ),
    (
        "SVNCacheFullTexts",
        "there is one cache for everything; nothing is gained by leaving things out",
    ),
    (
        "SVNCacheNodeProps",
        "there is one cache for everything; nothing is gained by leaving things out",
    ),
    (
        "SVNCacheRevProps",
        "they are always cached, and changes by other programs are noticed",
    ),
    (
        "SVNBlockRead",
        "how far is read ahead is decided from what is asked",
    ),
    ("SVNUseUTF8", "hooks always get UTF-8"),
    (
        "SetHandler",
        "the cache's numbers are among the metrics ([metrics])",
    ),
    ("DavDepthInfinity", "PROPFIND without a limit of depth is refused"),
    (
        "AuthLDAPRemoteUserAttribute",
        "users are known by the attribute that they type, as the directory spells it",
    ),
    ("AuthLDAPMaxSubGroupDepth", "groups in groups are not looked up"),
    ("AuthLDAPSubGroupAttribute", "groups in groups are not looked up"),
    (
        "SSLCertificateChainFile",
        "append its certificates to the file that 'certificate' names",
    ),
    (
        "SSLCACertificatePath",
        "put the certificates into one file and name it in 'client-ca'",
    ),
    (
        "SSLCARevocationPath",
        "put the lists into one file and name it in 'client-crl'",
    ),
    (
        "SSLCipherSuite",
        "ciphers are chosen by the TLS library: those of TLS 1.2 and 1.3 that are held to be safe",
    ),
    (
        "SSLRequireSSL",
        "take 'http' out of [listen] if nobody may come without TLS",
    ),
    ("SSLRequire", "has no counterpart"),
    (
        "SSLVerifyDepth",
        "chains of certificates may be as long as they are",
    ),
    (
        "LimitRequestFieldSize",
        "'header-bytes' in [limits] is for all lines together",
    ),
    (
        "LimitRequestLine",
        "'header-bytes' in [limits] is for all lines together",
    ),
];

/// Directives that affect the clients of a location also from outside of it.
const MATTER: &[&str] = &[
    "RewriteRule",
    "RewriteEngine",
    "RewriteCond",
    "ProxyPass",
    "ProxyPassMatch",
    "ProxyPassReverse",
    "Header",
    "RequestHeader",
    "ExtFilterDefine",
];

fn listed(list: &[&str], name: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns the reason why a directive is not translated; `None` if it is translated or has no effect. In a location
/// every unknown directive gets a reason.
pub fn untranslated_reason(name: &str, in_location: bool) -> Option<&'static str> {
    if listed(TRANSLATED, name) || listed(HARMLESS, name) {
        return None;
    }
    if let Some((_, why)) = REASONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return Some(why);
    }
    // Those of mod_security and mod_lua may refuse anything.
    let prefixes = ["svn", "authz", "dav", "auth", "secrule", "secaction", "luahook"];
    let lower = name.to_ascii_lowercase();
    let matters =
        in_location || listed(MATTER, name) || prefixes.iter().any(|prefix| lower.starts_with(prefix));
    matters.then_some("has no counterpart here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directive_of_the_page_is_translated_or_explained() {
        let page = include_str!("../../../../docs/CONFIGURATION.md");
        let (_, table) = page
            .split_once("## Apache's directives")
            .expect("because it is there");
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
        let names: Vec<&str> = rows.filter_map(|row| row.split(['`', ' ']).next()).collect();
        let names = names.iter().filter(|name| !name.starts_with('-'));
        assert!(names.clone().count() > 35);
        for name in names {
            let why = untranslated_reason(name, true);
            assert_ne!(why, Some("has no counterpart here"), "{name}");
        }
    }
}
