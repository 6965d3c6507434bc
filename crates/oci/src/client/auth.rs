//! Who we are: what a registry asks for, what it is shown, and what is remembered of that.

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

use super::answer::{Doing, judge};
use super::session::{Right, Session};
use crate::challenge::Challenge;
use crate::credentials::{Login, secret};
use crate::error::OciError;
use crate::reference::Repository;

/// Longest answer with a token.
const TOKEN: u64 = 64 << 10;
/// How long a token lives that does not say so.
const LIFETIME: Duration = Duration::from_mins(1);
/// A token that dies on the way is of no use.
const MARGIN: Duration = Duration::from_secs(10);
/// Repositories that are remembered.
const REMEMBERED: usize = 256;

/// What a request shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) header: SecretString,
    /// Whether somebody's credentials are behind it; there are tokens for nobody.
    pub(super) login: bool,
}

/// What registries asked for, so that not every request must be refused first.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<(Repository, Right), Way>);

#[derive(Clone, Debug)]
enum Way {
    /// User and password. They are looked up at every request, because a SecretString changes.
    Basic,
    Token {
        shown: Shown,
        until: Instant,
    },
}

impl Session<'_> {
    /// What the registry took the last time.
    pub(super) fn remembered(&self) -> Option<Shown> {
        let way = self.known().0.get(&(self.repository.clone(), self.right)).cloned();
        match way? {
            Way::Basic => self.basic(),
            Way::Token { shown, until } => (Instant::now() < until).then_some(shown),
        }
    }

    /// Gets what the registry asks for; nothing if there is nothing that it could be shown.
    pub(super) async fn sign_in(&self, refusal: &Response) -> Result<Option<Shown>, OciError> {
        let challenges = refusal.headers().get_all(WWW_AUTHENTICATE);
        let challenge = challenges.iter().filter_map(|value| value.to_str().ok()).find_map(Challenge::parse);
        let (way, shown) = match challenge {
            Some(Challenge::Bearer { realm, service }) => {
                let (shown, until) = self.token(&realm, service).await?;
                (Way::Token { shown: shown.clone(), until }, Some(shown))
            }
            Some(Challenge::Basic) => (Way::Basic, self.basic()),
            None => return Ok(None),
        };
        let mut known = self.known();
        if known.0.len() >= REMEMBERED {
            known.0.clear();
        }
        known.0.insert((self.repository.clone(), self.right), way);
        Ok(shown)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.client.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn basic(&self) -> Option<Shown> {
        let login = self.client.credentials.find(&self.repository.registry)?;
        Some(Shown { header: login.basic()?, login: true })
    }

    /// Gets a token for the repository, and until when it is good.
    async fn token(&self, realm: &str, service: Option<String>) -> Result<(Shown, Instant), OciError> {
        // Two fields, since there are registries that send both.
        #[derive(Deserialize)]
        struct Answer {
            token: Option<String>,
            access_token: Option<String>,
            expires_in: Option<u64>,
        }
        let realm =
            Url::parse(realm).map_err(|_| OciError::Protocol("the place for tokens has no address"))?;
        self.client.places.may_ask(&realm)?;
        let login = self.client.credentials.find(&self.repository.registry);
        let (asked, limit) = (Instant::now(), self.client.limits.headers);
        let request = self.token_request(realm, service.as_deref(), login.as_ref())?;
        let answer = timeout(limit, request.send()).await.map_err(|_| OciError::Silent(limit))?;
        let answer = answer.map_err(|error| self.client.transport.explain(&error))?;
        let status = answer.status();
        let body = self.whole(answer, TOKEN, "its token").await?;
        if status != StatusCode::OK {
            return Err(judge(status, &body, Doing::Reading, login.is_some()));
        }
        let answer: Option<Answer> = serde_json::from_slice(&body).ok();
        let answer = answer.ok_or(OciError::Protocol("it gave no token"))?;
        let token = [answer.token, answer.access_token].into_iter().flatten().find(|token| !token.is_empty());
        let token = token.ok_or(OciError::Protocol("it gave no token"))?;
        let lifetime = answer.expires_in.map_or(LIFETIME, Duration::from_secs).saturating_sub(MARGIN);
        let until = asked.checked_add(lifetime).unwrap_or(asked);
        Ok((Shown { header: secret(&format!("Bearer {token}")), login: login.is_some() }, until))
    }

    /// The request for it. It follows no redirect: it carries the password.
    fn token_request(
        &self,
        mut realm: Url,
        service: Option<&str>,
        login: Option<&Login>,
    ) -> Result<RequestBuilder, OciError> {
        let Self { client, repository, right, .. } = self;
        let mut query = Serializer::new(String::new());
        query.append_pair("scope", &format!("repository:{}:{}", repository.name, right.actions()));
        if let Some(service) = service {
            query.append_pair("service", service);
        }
        let query = query.finish();
        Ok(if let Some(Login::Identity(token)) = login {
            let mut form = Serializer::new(query);
            form.append_pair("grant_type", "refresh_token").append_pair("client_id", "vmafx");
            form.append_pair("refresh_token", token.reveal());
            let request = client.transport.request(Method::POST, &realm)?;
            let form = Bytes::from(form.finish());
            request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form)
        } else {
            let kept = realm.query().filter(|kept| !kept.is_empty()).map(|kept| format!("{kept}&"));
            realm.set_query(Some(&format!("{}{query}", kept.unwrap_or_default())));
            let request = client.transport.request(Method::GET, &realm)?;
            match login.and_then(Login::basic) {
                Some(basic) => request.header(AUTHORIZATION, basic.reveal()),
                None => request,
            }
        })
    }
}
