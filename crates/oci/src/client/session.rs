//! One operation: its requests, with whatever token they need, until its deadline.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use reqwest::{Method, Response, StatusCode};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use url::Url;

use super::Shared;
use super::answer::{Doing, judge};
use super::sign_in::Shown;
use crate::error::OciError;
use crate::reference::Repository;
use crate::transport::TransportError;

/// How much of an error's body is looked at.
const ERROR: u64 = 16 << 10;

/// What a token must allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Right {
    Pull,
    Push,
}

impl Right {
    pub(super) fn actions(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }
}

/// One operation in one repository.
pub(super) struct Session<'a> {
    pub(super) client: &'a Shared,
    pub(super) repository: &'a Repository,
    pub(super) right: Right,
    pub(super) base: Url,
    pub(super) deadline: Instant,
}

/// One request, as often as it must be sent.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    method: Method,
    pub(super) url: Url,
    accept: &'static str,
    content: Option<(String, Bytes)>,
}

impl Ask {
    pub(super) fn new(method: Method, url: Url) -> Self {
        Self { method, url, accept: "*/*", content: None }
    }

    pub(super) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    pub(super) fn content(self, media_type: impl Into<String>, content: Bytes) -> Self {
        Self { content: Some((media_type.into(), content)), ..self }
    }
}

/// An answer, and whether credentials were shown to get it.
pub(super) struct Answer {
    pub(super) response: Response,
    known: bool,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        client: &'a Shared,
        repository: &'a Repository,
        right: Right,
    ) -> Result<Self, OciError> {
        let base = client.places.base(repository)?;
        let now = Instant::now();
        let deadline = now.checked_add(client.limits.whole).unwrap_or(now + Duration::from_hours(24 * 365));
        Ok(Self { client, repository, right, base, deadline })
    }

    /// Something below the repository.
    pub(super) fn url(&self, below: &str) -> Result<Url, OciError> {
        self.base.join(below).map_err(|_| OciError::NotFound { answer: "no such name".to_owned() })
    }

    /// Does it again after a pause while that may help, and gives up at the deadline.
    pub(super) async fn retrying<T, F>(&self, mut attempt: impl FnMut() -> F) -> Result<T, OciError>
    where
        F: Future<Output = Result<T, OciError>>,
    {
        let mut pauses = self.client.limits.pauses();
        self.within(async {
            loop {
                match attempt().await {
                    Err(error) if error.is_transient() => match pauses.next() {
                        Some(pause) => {
                            tracing::debug!(%error, ?pause, repository = %self.repository, "another attempt follows");
                            sleep(pause).await;
                        }
                        None => return Err(error),
                    },
                    other => return other,
                }
            }
        })
        .await
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T, OciError>>) -> Result<T, OciError> {
        timeout_at(self.deadline, work).await.unwrap_or(Err(OciError::Overdue(self.client.limits.whole)))
    }

    /// Sends it; signs in if the registry wants that, or does not take what it took before.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer, OciError> {
        let shown = self.remembered();
        let response = self.follow(ask, shown.as_ref()).await?;
        let known = shown.as_ref().is_some_and(|shown| shown.login);
        // Only the registry may ask who we are: not a place that it sends us to.
        let ours = response.url().origin() == self.base.origin();
        if response.status() != StatusCode::UNAUTHORIZED || !ours {
            return Ok(Answer { response, known });
        }
        match self.sign_in(&response).await? {
            Some(again) if shown.as_ref() != Some(&again) => {
                let response = self.follow(ask, Some(&again)).await?;
                Ok(Answer { response, known: again.login })
            }
            _ => Ok(Answer { response, known }),
        }
    }

    /// Sends it to where it leads. What is shown is for the registry alone.
    async fn follow(&self, ask: &Ask, shown: Option<&Shown>) -> Result<Response, OciError> {
        let mut url = ask.url.clone();
        for _ in 0..=self.client.limits.redirects {
            let ours = url.origin() == self.base.origin();
            let answer = self.send(ask, &url, shown.filter(|_| ours)).await?;
            let repeats = matches!(answer.status().as_u16(), 307 | 308);
            let leads = repeats || matches!(answer.status().as_u16(), 301..=303);
            if !leads {
                return Ok(answer);
            }
            if !repeats && !matches!(ask.method, Method::GET | Method::HEAD) {
                return Err(OciError::Protocol("it redirects what cannot be sent again"));
            }
            url = location(&url, &answer)?;
        }
        Err(OciError::Redirects(self.client.limits.redirects))
    }

    /// Sends it to one place, once.
    async fn send(&self, ask: &Ask, url: &Url, shown: Option<&Shown>) -> Result<Response, OciError> {
        let Shared { transport, places, limits, .. } = self.client;
        places.may_ask(url)?;
        let mut request = transport.request(ask.method.clone(), url)?.header(ACCEPT, ask.accept);
        if let Some(shown) = shown {
            request = request.header(AUTHORIZATION, shown.header.reveal());
        }
        let mut length = 0;
        if let Some((media_type, content)) = &ask.content {
            length = content.len();
            request = request.header(CONTENT_TYPE, media_type).body(content.clone());
        }
        let limit = limits.answer(length);
        let answer = timeout(limit, request.send()).await.map_err(|_| OciError::Silent(limit))?;
        answer.map_err(|error| transport.explain(&error).into())
    }

    /// A short body.
    pub(super) async fn whole(
        &self,
        mut answer: Response,
        limit: u64,
        what: &'static str,
    ) -> Result<Vec<u8>, OciError> {
        let (idle, mut whole) = (self.client.limits.idle, Vec::new());
        loop {
            let piece = timeout(idle, answer.chunk()).await.map_err(|_| OciError::Silent(idle))?;
            match piece.map_err(|_| TransportError::Cut)? {
                Some(piece) => whole.extend_from_slice(&piece),
                None => return Ok(whole),
            }
            if whole.len() as u64 > limit {
                return Err(OciError::TooLarge { what, limit });
            }
        }
    }

    /// The answer if it has one of these statuses, or else what it means.
    pub(super) async fn expect(
        &self,
        answer: Answer,
        wanted: &[StatusCode],
        doing: Doing,
    ) -> Result<Response, OciError> {
        let Answer { response, known } = answer;
        let status = response.status();
        if wanted.contains(&status) {
            return Ok(response);
        }
        let body = self.whole(response, ERROR, "its error").await.unwrap_or_default();
        Err(judge(status, &body, doing, known))
    }
}

/// Where an answer says that something is.
pub(super) fn location(from: &Url, answer: &Response) -> Result<Url, OciError> {
    let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    location
        .and_then(|location| from.join(location).ok())
        .ok_or(OciError::Protocol("it does not say where to go on"))
}
