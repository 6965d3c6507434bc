//! The token of the caller: that of a ServiceAccount, which is replaced before it expires, or the content of a file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use http::HeaderValue;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::DashboardArgs;
use super::error::DashboardError;
use crate::cluster::connection::Cluster;

const LIFETIME: Duration = Duration::from_hours(1);
/// The rest of the lifetime is for streams, which end with their token.
const RENEW_AFTER: Duration = Duration::from_mins(45);

/// A ServiceAccount on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AccountName {
    namespace: Option<String>,
    name: String,
}

impl FromStr for AccountName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        if name.is_empty() || name.contains('/') || namespace.is_some_and(str::is_empty) {
            return Err("use NAME or NAMESPACE/NAME".to_owned());
        }
        Ok(Self { namespace: namespace.map(str::to_owned), name: name.to_owned() })
    }
}

pub(super) enum TokenSource {
    Missing,
    File(PathBuf),
    Account(Box<AccountTokens>),
}

pub(super) struct AccountTokens {
    cluster: Cluster,
    namespace: String,
    name: String,
    audience: String,
    current: Mutex<Option<(HeaderValue, Instant)>>,
}

impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("nobody"),
            Self::File(file) => write!(f, "the file {}", file.display()),
            Self::Account(tokens) => write!(f, "ServiceAccount {}/{}", tokens.namespace, tokens.name),
        }
    }
}

impl TokenSource {
    pub(super) fn new(cluster: &Cluster, args: &DashboardArgs) -> Self {
        if let Some(file) = &args.token_file {
            return Self::File(file.clone());
        }
        let Some(account) = &args.service_account else { return Self::Missing };
        Self::Account(Box::new(AccountTokens {
            cluster: cluster.clone(),
            namespace: account.namespace.clone().unwrap_or_else(|| cluster.namespace.clone()),
            name: account.name.clone(),
            audience: args.audience.clone(),
            current: Mutex::default(),
        }))
    }

    /// The value of the header `Authorization`; `None` if no account and no file was given.
    pub(super) async fn authorization(&self) -> Result<Option<HeaderValue>, DashboardError> {
        match self {
            Self::Missing => Ok(None),
            Self::File(file) => {
                let token = tokio::fs::read_to_string(file)
                    .await
                    .map_err(|source| DashboardError::File { file: file.clone(), source })?;
                self.header(&token).map(Some)
            }
            Self::Account(tokens) => {
                let mut current = tokens.current.lock().await;
                if let Some((header, renewal)) = current.as_ref()
                    && Instant::now() < *renewal
                {
                    return Ok(Some(header.clone()));
                }
                let header = self.header(&tokens.request().await?)?;
                *current = Some((header.clone(), Instant::now() + RENEW_AFTER));
                Ok(Some(header))
            }
        }
    }

    fn header(&self, token: &str) -> Result<HeaderValue, DashboardError> {
        let value = HeaderValue::try_from(format!("Bearer {}", token.trim()));
        let mut value = value.map_err(|_| DashboardError::InvalidToken(self.to_string()))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl AccountTokens {
    async fn request(&self) -> Result<String, DashboardError> {
        let spec = TokenRequestSpec {
            audiences: Some(vec![self.audience.clone()]),
            expiration_seconds: i64::try_from(LIFETIME.as_secs()).ok(),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let accounts: Api<ServiceAccount> = Api::namespaced(self.cluster.client.clone(), &self.namespace);
        let what = format!("create a token of ServiceAccount {}/{}", self.namespace, self.name);
        let params = PostParams::default();
        let made =
            self.cluster.call(&what, accounts.create_token_request(&self.name, &params, &request)).await?;
        Ok(made.status.and_then(|status| status.token).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_may_be_in_a_namespace() {
        let account = |namespace: Option<&str>, name: &str| AccountName {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        assert_eq!("reviewer".parse(), Ok(account(None, "reviewer")));
        assert_eq!("video/reviewer".parse(), Ok(account(Some("video"), "reviewer")));
        for wrong in ["", "/", "video/", "/reviewer", "a/b/c"] {
            assert!(wrong.parse::<AccountName>().is_err(), "{wrong}");
        }
    }
}
