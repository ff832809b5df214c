//! Answers the demands of servers for names and passwords.

use base::Result;
use ra::{Credentials, Password, PasswordRequest};

use super::options::AccessOptions;

/// The name and the password of the options.
pub struct OptionCredentials {
    user: Option<String>,
    password: Option<String>,
}

impl OptionCredentials {
    /// Returns the credentials of the options.
    pub fn new(options: &AccessOptions) -> OptionCredentials {
        OptionCredentials {
            user: options.username.clone(),
            password: options.password.clone(),
        }
    }
}

impl Credentials for OptionCredentials {
    fn password(&self, request: &PasswordRequest<'_>) -> Result<Option<Password>> {
        let user = self.user.as_deref().or(request.user);
        Ok(match (user, &self.password) {
            (Some(user), Some(password)) if request.attempt == 0 && !request.redirected => Some(Password {
                user: user.to_owned(),
                password: password.clone(),
            }),
            _ => None,
        })
    }

    fn local_user(&self) -> Result<Option<String>> {
        Ok(self.user.clone())
    }
}
