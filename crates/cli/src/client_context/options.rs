//! The options of client programs for access to repositories.

/// The options, as typed.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct AccessOptions {
    /// log in as user ARG
    #[arg(long)]
    pub username: Option<String>,
    /// log in with the password ARG; other users of this machine can see it while the command runs
    #[arg(long)]
    pub password: Option<String>,
    /// read the password from the first line of standard input
    #[arg(long)]
    pub password_from_stdin: bool,
    /// do not store names and passwords
    #[arg(long)]
    pub no_auth_cache: bool,
    /// ask nothing
    #[arg(long)]
    pub non_interactive: bool,
    /// ask even if standard input is not a terminal
    #[arg(long)]
    pub force_interactive: bool,
    /// the old form of '--trust-server-cert-failures=unknown-ca'
    #[arg(long)]
    pub trust_server_cert: bool,
    /// with '--non-interactive', accept certificates of servers in spite of the failures ARG, separated by commas:
    /// unknown-ca, cn-mismatch, expired, not-yet-valid, other
    #[arg(long)]
    pub trust_server_cert_failures: Option<String>,
    /// read the configuration in directory ARG
    #[arg(long)]
    pub config_dir: Option<String>,
    /// set an option of the configuration: FILE:SECTION:OPTION=VALUE, where FILE is 'config' or 'servers'
    #[arg(long, action = clap::ArgAction::Append)]
    pub config_option: Vec<String>,
}
