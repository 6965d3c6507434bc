//! The issuer whose tokens are accepted.

use std::path::Path;
use std::sync::Arc;

use super::args::JWKS_TOKEN;
use super::config_file::ConfigFileError;
use super::jwt;
use super::reloading_file::ReloadingFile;

#[derive(Debug)]
pub(super) enum IssuerName {
    Configured(Arc<String>),
    /// The `iss` of the controller's own token, which the same issuer made. Nobody has to configure a cluster's issuer.
    FromOwnToken(ReloadingFile<String>),
}

impl IssuerName {
    /// Takes the issuer from the token that is sent to the key endpoint. The signature of that token is not verified:
    /// whoever can replace the file can replace the controller.
    pub(super) async fn from_token_file(file: &Path) -> Result<Self, ConfigFileError> {
        let watched = ReloadingFile::open(file.to_owned(), JWKS_TOKEN, issuer_of).await?;
        tracing::info!(issuer = %watched.get().0, "accepting tokens of the issuer of the controller's own token");
        Ok(Self::FromOwnToken(watched))
    }

    /// The name, and a generation that increases with each change.
    pub(super) fn get(&self) -> (Arc<String>, u64) {
        match self {
            Self::Configured(name) => (Arc::clone(name), 0),
            Self::FromOwnToken(token) => token.get(),
        }
    }

    /// The kubelet replaces the token every hour, and the cluster's issuer may change with it.
    pub(super) async fn reload_if_changed(&self) {
        if let Self::FromOwnToken(token) = self {
            token.reload_if_changed().await;
        }
    }
}

fn issuer_of(token: &str) -> Result<String, String> {
    jwt::issuer(token.trim()).ok_or_else(|| {
        "it holds no JSON Web Token with an issuer: set VMAFX_AUTH_ISSUER to the iss of the callers' tokens"
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
    fn a_token_names_its_issuer(#[case] token: &str, #[case] expected: Option<&str>) {
        assert_eq!(issuer_of(token).ok().as_deref(), expected);
    }
}
