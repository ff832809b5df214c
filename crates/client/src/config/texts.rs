//! The texts of the files in a new configuration area. Every option is a comment.

/// `README.txt`.
pub(super) const README: &str = r#"This directory holds your settings for Subversion clients.

Files:

   config    what the programs do: editors, tunnels, patterns of names, properties
             of new files
   servers   how servers are reached: proxies, certificates, passwords; by host
   auth/     user names, passwords and certificates that you allowed to be stored.
             'svn auth' lists them, 'svn auth --remove PATTERN' removes them

Syntax:

   A line '[section]' begins a section. A line 'option = value' or 'option: value'
   sets an option of the section above it. A line that begins with a blank or a tab
   continues the value of the line above it. A line that begins with '#' is a
   comment. Sections and options must begin in the first column. The case of names
   does not matter.

   '%(other)s' in a value stands for the value of the option 'other' of the same
   section.

   Options that are 'yes' or 'no' may also be 'on', 'off', 'true', 'false', '1', '0'.

Which value counts, the strongest first:

   1. --config-option FILE:SECTION:OPTION=VALUE on the command line
   2. these files, or those of the directory that --config-dir names
   3. the files of /etc/subversion

A new directory of settings is made with every option as a comment. Remove the '#'
in front of an option to set it. You can delete any of these files: a new one is
made when a program needs it.
"#;

/// `servers`.
pub(super) const SERVERS: &str = r#"# How servers are reached.
#
# [groups] gives names to hosts: a list of patterns, separated by commas, in which
# '*' and '?' stand for any text and any character. A section with the name of a group
# has the options of its hosts. [global] has the options of all hosts, and the
# defaults of groups.
#
# The options of groups and of [global]:
#
#   http-proxy-host                the proxy for http:// and https://
#   http-proxy-port                its port
#   http-proxy-username            the user name for it
#   http-proxy-password            the password for it
#   http-proxy-exceptions          patterns of hosts that are reached without it
#   http-timeout                   seconds to wait for a silent server
#   http-compression               yes, no, or auto: by the speed of the network
#   http-max-connections           connections of one command, at most
#   http-auth-types                ways to log in: basic, digest (separated by ';')
#   http-bulk-updates              yes, no, or auto: texts in one response
#   http-chunked-requests          yes: requests in chunks; no and auto: with a length
#   ssl-authority-files            files (PEM) with certificates of authorities that
#                                  are trusted, separated by ';'
#   ssl-trust-default-ca           trust the authorities of the system
#   ssl-client-cert-file           your certificate and its key (PKCS#12, or PEM)
#   ssl-client-cert-password       its passphrase
#   store-passwords                store passwords
#   store-plaintext-passwords      yes, no, or ask: store passwords unencrypted
#   store-ssl-client-cert-pp       store passphrases of certificates
#   store-ssl-client-cert-pp-plaintext
#                                  yes, no, or ask: store them unencrypted
#   store-auth-creds               store anything at all below auth/
#   username                       the user name, if none is given or stored

[groups]
# office = *.office.example.com, 192.168.1.*
# mirror = mirror.example.org

# [office]
# username = harry
# store-plaintext-passwords = no
# ssl-authority-files = /etc/ssl/office-ca.pem

# [mirror]
# http-proxy-host = proxy.example.com
# http-proxy-port = 3128
# http-timeout = 60

[global]
# http-proxy-host = proxy.example.com
# http-proxy-port = 3128
# http-proxy-username = harry
# http-proxy-password = secret
# http-proxy-exceptions = *.example.com, localhost
# http-timeout = 600
# http-compression = auto
# http-max-connections = 4
# http-auth-types = basic;digest
# http-bulk-updates = auto
# http-chunked-requests = auto
# ssl-authority-files = /path/to/ca.pem;/path/to/another.pem
# ssl-trust-default-ca = yes
# ssl-client-cert-file = /path/to/certificate.p12
# ssl-client-cert-password = passphrase
# store-passwords = yes
# store-plaintext-passwords = ask
# store-ssl-client-cert-pp = yes
# store-ssl-client-cert-pp-plaintext = ask
# store-auth-creds = yes
# username = harry
"#;

/// `config`.
pub(super) const CONFIG: &str = r##"# What the programs do. For passwords and servers, see the file 'servers'.

[auth]
# Programs that keep passwords, the preferred one first; an empty list means none.
# password-stores = gnome-keyring,kwallet,gpg-agent
# The wallet of KWallet; without a name, that for networks.
# kwallet-wallet = NAME
# Ask for the file of a certificate if a server demands one.
# ssl-client-cert-file-prompt = no

[helpers]
# The editor for log messages and properties. It is run with the name of a file.
# editor-cmd = vi
# An external program that shows differences.
# diff-cmd = diff
# Its options, and those of the built-in one.
# diff-extensions = -u -p
# An external program that merges three files.
# diff3-cmd = diff3
# True if it understands '--diff-program'.
# diff3-has-program-arg = yes
# A program to edit conflicts with.
# merge-tool-cmd = merge-tool

[tunnels]
# Commands that connect to svn+NAME://host/path: 'NAME = command'. The host and
# 'svnserve -t' are added to the command. A command that begins with '$VARIABLE' is
# replaced by the value of that environment variable, if it is set.
# ssh = $SVN_SSH ssh -q --
# rsh = rsh

[miscellany]
# Patterns of names that are not versioned.
# global-ignores = *.o *.lo *.la *.al .libs *.so *.so.[0-9]* *.a *.pyc *.pyo
#   __pycache__ *.rej *~ #*# .#* .*.swp .DS_Store [Tt]humbs.db
# The character set of log messages in files.
# log-encoding = latin1
# Give files the times of their last commits.
# use-commit-times = yes
# Keep locks after a commit.
# no-unlock = yes
# A file with MIME types by extension.
# mime-types-file = /etc/mime.types
# Extensions that files with conflicts keep.
# preserved-conflict-file-exts = doc ppt xls od?
# Set the properties of [auto-props] on new files.
# enable-auto-props = yes
# Ask what to do with conflicts.
# interactive-conflicts = no
# Memory for caches of a program, in megabytes.
# memory-cache-size = 16
# Show differences of files that are not text.
# diff-ignore-content-type = no

[auto-props]
# Properties of new files: 'PATTERN = name=value;name=value'. ';;' is a semicolon.
# *.c = svn:eol-style=native
# *.sh = svn:eol-style=native;svn:executable
# *.png = svn:mime-type=image/png

[working-copy]
# Let only one program use a working copy at a time.
# exclusive-locking = false
# The programs for which that counts.
# exclusive-locking-clients =
# Milliseconds to wait for another program that uses a working copy.
# busy-timeout = 10000
"##;

#[cfg(test)]
mod tests {
    use base::ini::{Case, Ini};

    use super::*;

    #[test]
    fn new_files_have_sections_without_values() {
        for text in [SERVERS, CONFIG] {
            let ini = Ini::parse(text.as_bytes(), Case::Ignored).expect("well formed");
            assert!(text.contains("\n["));
            assert_eq!(ini.sections().count(), 0);
        }
    }

    #[test]
    fn examples_are_well_formed() {
        for text in [SERVERS, CONFIG] {
            let begin = text.find("\n[").expect("a section");
            let mut uncommented = String::new();
            for line in text[begin..].lines() {
                let example = line
                    .strip_prefix("# ")
                    .filter(|line| line.contains(" =") || line.starts_with(['[', ' ']));
                uncommented += example.unwrap_or_default();
                uncommented += "\n";
                if line.starts_with('[') {
                    uncommented += line;
                    uncommented += "\n";
                }
            }
            Ini::parse(uncommented.as_bytes(), Case::Ignored).expect("well formed");
        }
    }
}
