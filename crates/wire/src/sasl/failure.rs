//! Why an exchange was refused, with the number and the words of Cyrus SASL.

use std::fmt;

/// A refusal: one of Cyrus SASL's results, and what it says about this case. Its text is sent to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    result: FailureKind,
    detail: String,
}

/// The results of Cyrus SASL that end an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// The store of users cannot be read, or a token breaks a rule.
    Generic,
    /// There is no such mechanism.
    NoMechanism,
    /// The token is malformed, or the user belongs to another realm.
    BadProtocol,
    /// The realm is empty.
    InvalidParameter,
    /// The password or its proof is wrong.
    WrongPassword,
    /// There is no such user.
    UnknownUser,
    /// The mechanism protects the connection less than the server demands.
    TooWeak,
}

impl Failure {
    pub(super) fn new(result: FailureKind, detail: impl Into<String>) -> Failure {
        let detail = detail.into();
        Failure { result, detail }
    }

    pub(super) fn no_mechanism(name: &str) -> Failure {
        Failure::new(FailureKind::NoMechanism, format!("Couldn't find mech {name}"))
    }

    pub(super) fn bad_protocol(detail: impl Into<String>) -> Failure {
        Failure::new(FailureKind::BadProtocol, detail)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, words) = match self.result {
            FailureKind::Generic => (-1, "generic failure"),
            FailureKind::NoMechanism => (-4, "no mechanism available"),
            FailureKind::BadProtocol => (-5, "bad protocol / cancel"),
            FailureKind::InvalidParameter => (-7, "invalid parameter supplied"),
            FailureKind::WrongPassword => (-13, "authentication failure"),
            // The library hides this number from clients, but not the words.
            FailureKind::UnknownUser => (-13, "user not found"),
            FailureKind::TooWeak => (-15, "mechanism too weak for this user"),
        };
        write!(f, "SASL({number}): {words}: {}", self.detail)
    }
}
