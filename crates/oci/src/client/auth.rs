//! Authentication: signing in, and caching what the registry accepted.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use tokio::time::{Instant, timeout};
use url::Url;
use url::form_urlencoded::Serializer;
use vmafx_kit::config::SecretString;

use super::response::{RegistryAccess, error_for};
use super::session::{RegistrySession, TokenScope};
use crate::challenge::Challenge;
use crate::credentials::{RegistryLogin, secret};
use crate::error::OciError;
use crate::reference::Repository;

const MAX_TOKEN_RESPONSE_BYTES: u64 = 64 << 10;
/// Lifetime of a token whose response does not state one, as the protocol defines it.
const DEFAULT_LIFETIME: Duration = Duration::from_mins(1);
/// A token is renewed this long before it expires, so that it does not expire on its way.
const EXPIRY_MARGIN: Duration = Duration::from_secs(10);
/// Cache entries; when the cache is full it is cleared.
const MAX_CACHED: usize = 256;

/// The `Authorization` header of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Authorization {
    pub(super) header: SecretString,
    /// Whether it was obtained with credentials; registries also issue anonymous tokens.
    pub(super) with_credentials: bool,
}

/// What each repository accepted last, so that not every request must be refused first.
#[derive(Debug, Default)]
pub(super) struct AuthCache(HashMap<(Repository, TokenScope), CachedAuth>);

#[derive(Clone, Debug)]
enum CachedAuth {
    /// User and password, looked up for every request because a mounted Secret changes.
    Basic,
    Token {
        authorization: Authorization,
        expires_at: Instant,
    },
}

impl RegistrySession<'_> {
    pub(super) fn cached_authorization(&self) -> Option<Authorization> {
        let cached = self.auth_cache().0.get(&(self.repository.clone(), self.scope)).cloned();
        match cached? {
            CachedAuth::Basic => self.basic(),
            CachedAuth::Token { authorization, expires_at } => {
                (Instant::now() < expires_at).then_some(authorization)
            }
        }
    }

    /// Obtains the authorization that a 401 response asks for; `None` without suitable credentials.
    pub(super) async fn sign_in(&self, unauthorized: &Response) -> Result<Option<Authorization>, OciError> {
        let challenges = unauthorized.headers().get_all(WWW_AUTHENTICATE);
        let challenge = challenges.iter().filter_map(|value| value.to_str().ok()).find_map(Challenge::parse);
        let (cached, authorization) = match challenge {
            Some(Challenge::Bearer { realm, service }) => {
                let (authorization, expires_at) = self.token(&realm, service).await?;
                (CachedAuth::Token { authorization: authorization.clone(), expires_at }, Some(authorization))
            }
            Some(Challenge::Basic) => (CachedAuth::Basic, self.basic()),
            None => return Ok(None),
        };
        let mut cache = self.auth_cache();
        if cache.0.len() >= MAX_CACHED {
            cache.0.clear();
        }
        cache.0.insert((self.repository.clone(), self.scope), cached);
        Ok(authorization)
    }

    fn auth_cache(&self) -> MutexGuard<'_, AuthCache> {
        self.client.auth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn basic(&self) -> Option<Authorization> {
        let login = self.client.credentials.find(&self.repository.registry)?;
        Some(Authorization { header: login.basic()?, with_credentials: true })
    }

    /// Obtains a token for the repository, and the time until which it is used.
    async fn token(
        &self,
        realm: &str,
        service: Option<String>,
    ) -> Result<(Authorization, Instant), OciError> {
        // Registries use either of the two names, or both.
        #[derive(Deserialize)]
        struct TokenResponse {
            token: Option<String>,
            access_token: Option<String>,
            expires_in: Option<u64>,
        }
        let realm = Url::parse(realm).map_err(|_| OciError::Protocol("the realm for tokens is not a URL"))?;
        self.client.endpoints.check(&realm)?;
        let login = self.client.credentials.find(&self.repository.registry);
        let (requested_at, limit) = (Instant::now(), self.client.limits.headers);
        let request = self.token_request(realm, service.as_deref(), login.as_ref())?;
        let response = timeout(limit, request.send()).await.map_err(|_| OciError::Timeout(limit))?;
        let response = response.map_err(|error| self.client.transport.classify(&error))?;
        let status = response.status();
        let body = self.read_body(response, MAX_TOKEN_RESPONSE_BYTES, "its token").await?;
        if status != StatusCode::OK {
            return Err(error_for(status, &body, RegistryAccess::Read, login.is_some()));
        }
        let no_token = || OciError::Protocol("its token response has no token");
        let parsed: TokenResponse = serde_json::from_slice(&body).map_err(|_| no_token())?;
        let token = [parsed.token, parsed.access_token].into_iter().flatten().find(|token| !token.is_empty());
        let header = secret(&format!("Bearer {}", token.ok_or_else(no_token)?));
        let lifetime =
            parsed.expires_in.map_or(DEFAULT_LIFETIME, Duration::from_secs).saturating_sub(EXPIRY_MARGIN);
        let expires_at = requested_at.checked_add(lifetime).unwrap_or(requested_at);
        Ok((Authorization { header, with_credentials: login.is_some() }, expires_at))
    }

    /// The request for a token. Redirects are not followed, because it carries the password.
    fn token_request(
        &self,
        mut realm: Url,
        service: Option<&str>,
        login: Option<&RegistryLogin>,
    ) -> Result<RequestBuilder, OciError> {
        let Self { client, repository, scope, .. } = self;
        let mut query = Serializer::new(String::new());
        query.append_pair("scope", &format!("repository:{}:{}", repository.name, scope.actions()));
        if let Some(service) = service {
            query.append_pair("service", service);
        }
        let query = query.finish();
        Ok(if let Some(RegistryLogin::IdentityToken(token)) = login {
            let mut form = Serializer::new(query);
            form.append_pair("grant_type", "refresh_token").append_pair("client_id", "vmafx");
            form.append_pair("refresh_token", token.reveal());
            let request = client.transport.request(Method::POST, &realm)?;
            let form = Bytes::from(form.finish());
            request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form)
        } else {
            let own = realm.query().filter(|own| !own.is_empty()).map(|own| format!("{own}&"));
            realm.set_query(Some(&format!("{}{query}", own.unwrap_or_default())));
            let request = client.transport.request(Method::GET, &realm)?;
            match login.and_then(RegistryLogin::basic) {
                Some(basic) => request.header(AUTHORIZATION, basic.reveal()),
                None => request,
            }
        })
    }
}
