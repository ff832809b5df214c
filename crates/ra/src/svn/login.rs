//! The start of a conversation, and authentication: at the start, and whenever a command needs more rights.

use base::{Code, Error, Result, Url};
use delta::svndiff::Codec;
use wire::sasl::client::{Credentials, Exchange};
use wire::sasl::{Failure, Mechanism};
use wire::svn::auth::{AuthAnswer, AuthResponse};
use wire::svn::handshake::{AuthRequest, Capabilities, Greeting, Hello, ReposInfo};
use wire::svn::{Malformed, Writer};

use super::SvnSession;
use super::connection::{Connection, PORT};
use crate::options::{OpenOptions, Password, PasswordRequest};

/// The version of the protocol.
const VERSION: u64 = 2;
/// The most passwords that are tried in one exchange, whatever the caller's credentials return.
const MOST_ATTEMPTS: u32 = 100;

impl SvnSession {
    /// Opens a session.
    ///
    /// # Errors
    /// Those of the connection; `RA_SVN_BAD_VERSION`, `RA_SVN_REPOS_NOT_FOUND`, `RA_NOT_AUTHORIZED`.
    pub(crate) fn open(url: &Url, options: &OpenOptions) -> Result<SvnSession> {
        let mut session = SvnSession {
            conn: Connection::open(url, options)?,
            options: options.clone(),
            url: url.clone(),
            server_url: url.clone(),
            root: url.clone(),
            uuid: String::new(),
            capabilities: Capabilities::NONE,
            codec: Codec::new(),
        };
        let greeting = session.response(Greeting::parse)?;
        check_greeting(&greeting)?;
        let hello = Hello {
            version: VERSION,
            words: Capabilities::client().words().map(str::to_owned).collect(),
            url: url.as_str().to_owned(),
            ra_client: Some(crate::user_agent()),
            client: options.client_name.clone(),
        };
        hello.write(session.conn.out());
        session.authenticate()?;
        let info = session.response(ReposInfo::parse)?;
        session.capabilities = greeting.capabilities.with(info.capabilities);
        session.uuid = info.uuid;
        session.root = match Url::canonicalize(&info.root_url) {
            Ok(root) if url.relative_to(&root).is_some() => root,
            _ => {
                let message = format!(
                    "The server's repository root '{}' does not contain '{url}'",
                    info.root_url
                );
                return Err(Error::new(Code::RA_SVN_MALFORMED_DATA, message));
            }
        };
        Ok(session)
    }

    /// Reads an authentication request and fulfils it. Returns true if there was anything to do.
    ///
    /// # Errors
    /// The server's refusal of the command; `RA_NOT_AUTHORIZED` without credentials that the server accepts;
    /// `RA_SVN_NO_MECHANISMS`.
    pub(super) fn authenticate(&mut self) -> Result<bool> {
        let request = self.response(AuthRequest::parse)?;
        if request.mechanisms.is_empty() {
            return Ok(false);
        }
        let offers = |mechanism: &str| request.mechanisms.iter().any(|offered| offered == mechanism);
        let is_tunnel = self.url.scheme() != "svn";
        let outcome = if is_tunnel && offers("EXTERNAL") {
            self.exchange_token("EXTERNAL")
        } else if offers("ANONYMOUS") {
            self.exchange_token("ANONYMOUS")
        } else if let Some(mechanism) = Exchange::best_mechanism(offers) {
            self.prove_password(mechanism, &request.realm)
        } else {
            Err(Error::bare(Code::RA_SVN_NO_MECHANISMS))
        };
        // The server still waits for an answer to its request.
        outcome.map_err(|error| self.conn.lose(error))?;
        Ok(true)
    }

    /// Authenticates with a mechanism that only needs a token, which is empty.
    fn exchange_token(&mut self, mechanism: &str) -> Result<()> {
        let token = Some(&b""[..]);
        AuthResponse { mechanism, token }.write(self.conn.out());
        match self.auth_answer()? {
            Answer::Success(_) => Ok(()),
            Answer::Failure(text) => Err(refused(&text)),
            Answer::Step(_) => Err(Malformed::Word.into()),
        }
    }

    /// Authenticates with a password until the server accepts one, or there is none left.
    fn prove_password(&mut self, mechanism: Mechanism, realm: &str) -> Result<()> {
        let url = self.url.clone();
        let port = url.port_number()?.unwrap_or(match url.scheme() {
            "svn" => PORT,
            _ => 0,
        });
        let realm = format!("<{}://{}:{port}> {realm}", url.scheme(), url.host());
        let credentials = self.options.credentials.clone();
        let mut failure: Option<String> = None;
        for attempt in 0..MOST_ATTEMPTS {
            let request = PasswordRequest {
                realm: &realm,
                user: url.user(),
                attempt,
                failure: failure.as_deref(),
                redirected: false,
            };
            let Some(password) = credentials.password(&request)? else {
                break;
            };
            match self.send_password(mechanism, &password)? {
                None => return credentials.accepted(&realm, &password),
                Some(text) => failure = Some(text),
            }
        }
        Err(match failure {
            Some(text) => refused(&text),
            None => Error::new(Code::RA_NOT_AUTHORIZED, "Can't get username or password"),
        })
    }

    /// Proves one password; returns the server's reason if it refuses. As with SASL, blanks around the user's name do not count.
    ///
    /// # Errors
    /// `RA_NOT_AUTHORIZED` for an empty name, and if the server does not keep to the mechanism.
    fn send_password(&mut self, mechanism: Mechanism, password: &Password) -> Result<Option<String>> {
        if password.user.is_empty() {
            let message = "SASL authentication error: SASL(-1): generic failure: All-whitespace username.";
            return Err(Error::new(Code::RA_NOT_AUTHORIZED, message));
        }
        let credentials = Credentials {
            user: password.user.trim_matches(is_blank).as_bytes(),
            password: password.password.as_bytes(),
        };
        let host = self.url.host().to_owned();
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        let (mut exchange, token) = Exchange::begin(mechanism, nonce, &credentials);
        let token = token.map(|token| mechanism.encode_token(&token));
        AuthResponse {
            mechanism: mechanism.name(),
            token: token.as_deref(),
        }
        .write(self.conn.out());
        loop {
            match self.auth_answer()? {
                Answer::Step(challenge) => {
                    let challenge = mechanism.decode_token(&challenge);
                    let answer = exchange
                        .step(&challenge, &host, &credentials)
                        .map_err(sasl_error)?;
                    Writer(self.conn.out()).string(mechanism.encode_token(&answer));
                }
                Answer::Failure(text) => return Ok(Some(text)),
                Answer::Success(last) => {
                    let last = last.map(|last| mechanism.decode_token(&last));
                    let layer = exchange.finish(last.as_deref()).map_err(sasl_error)?;
                    if let Some(layer) = layer {
                        self.conn.protect(layer)?;
                    }
                    return Ok(None);
                }
            }
        }
    }

    fn auth_answer(&mut self) -> Result<Answer> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self.conn.receive_list().map(AuthAnswer::parse)? {
            Ok(AuthAnswer::Step(challenge)) => Ok(Answer::Step(challenge.to_vec())),
            Ok(AuthAnswer::Success(last)) => Ok(Answer::Success(last.map(<[u8]>::to_vec))),
            Ok(AuthAnswer::Failure(reason)) => Ok(Answer::Failure(text(reason))),
            Err(what) => Err(self.conn.lose(what.into())),
        }
    }
}

/// The server's next message of an exchange, owned.
enum Answer {
    Step(Vec<u8>),
    Success(Option<Vec<u8>>),
    Failure(String),
}

/// Returns the error for a server that does not keep to a mechanism.
fn sasl_error(failure: Failure) -> Error {
    Error::new(
        Code::RA_NOT_AUTHORIZED,
        format!("SASL authentication error: {failure}"),
    )
}

fn refused(reason: &str) -> Error {
    Error::new(
        Code::RA_NOT_AUTHORIZED,
        format!("Authentication error from server: {reason}"),
    )
}

fn is_blank(letter: char) -> bool {
    letter.is_ascii_whitespace() || letter == '\x0b'
}

fn check_greeting(greeting: &Greeting) -> Result<()> {
    let message = if greeting.min_version > VERSION {
        format!("Server requires minimum version {}", greeting.min_version)
    } else if greeting.max_version < VERSION {
        format!("Server only supports versions up to {}", greeting.max_version)
    } else if !greeting.capabilities.has(Capabilities::EDIT_PIPELINE) {
        "Server does not support edit pipelining".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::new(Code::RA_SVN_BAD_VERSION, message))
}
