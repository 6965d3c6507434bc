//! Whom tokens must be from.

use std::path::Path;
use std::sync::Arc;

use super::args::JWKS_TOKEN;
use super::document::DocumentError;
use super::jwt;
use super::watched::Watched;

/// The name of the issuer.
#[derive(Debug)]
pub(super) enum IssuerName {
    /// As it was set.
    Set(Arc<String>),
    /// As our own token has it, which the same issuer made: a cluster is not asked for its name in a setting.
    Own(Watched<String>),
}

impl IssuerName {
    /// Reads it from the token that we send when keys are read. That token is not checked: whoever can replace the
    /// file can replace us.
    pub(super) async fn of_token(file: &Path) -> Result<Self, DocumentError> {
        let watched = Watched::open(file.to_owned(), JWKS_TOKEN, issuer_of).await?;
        tracing::info!(issuer = %watched.get().0, "tokens must be from whom our own is from");
        Ok(Self::Own(watched))
    }

    /// The name, and a number that is another one after each change.
    pub(super) fn get(&self) -> (Arc<String>, u64) {
        match self {
            Self::Set(name) => (Arc::clone(name), 0),
            Self::Own(token) => token.get(),
        }
    }

    /// Looks whether the token is another one: it is replaced every hour, and with it what the cluster calls itself.
    pub(super) async fn look(&self) {
        if let Self::Own(token) = self {
            token.look().await;
        }
    }
}

/// The issuer that a token names.
fn issuer_of(token: &str) -> Result<String, String> {
    jwt::issuer(token.trim()).ok_or_else(|| {
        "it is no token with an issuer in it: set VMAFX_AUTH_ISSUER to that of the tokens of callers"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    // {"alg":"RS256"} and {"iss":"https://i.example"}
    #[case::token("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2kuZXhhbXBsZSJ9.x", Some("https://i.example"))]
    #[case::line("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2kuZXhhbXBsZSJ9.x\n", Some("https://i.example"))]
    // {"iss":""}
    #[case::nobody("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIifQ.x", None)]
    // {}
    #[case::none("eyJhbGciOiJSUzI1NiJ9.e30.x", None)]
    #[case::opaque("0123456789abcdef", None)]
    #[case::empty("", None)]
    fn a_token_says_whom_it_is_from(#[case] token: &str, #[case] expected: Option<&str>) {
        assert_eq!(issuer_of(token).ok().as_deref(), expected);
    }
}
