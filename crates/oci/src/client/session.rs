//! One operation: its requests with their authentication, retries and deadline.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use reqwest::{Method, Response, StatusCode};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use url::Url;

use super::ClientState;
use super::auth::Authorization;
use super::response::{RegistryAccess, error_for};
use crate::error::OciError;
use crate::reference::Repository;
use crate::transport::TransportError;

const MAX_ERROR_BYTES: u64 = 16 << 10;

/// The scope that a token must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TokenScope {
    Pull,
    Push,
}

impl TokenScope {
    pub(super) fn actions(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }
}

/// One operation in one repository.
pub(super) struct RegistrySession<'a> {
    pub(super) client: &'a ClientState,
    pub(super) repository: &'a Repository,
    pub(super) scope: TokenScope,
    pub(super) base: Url,
    pub(super) deadline: Instant,
}

/// A request that may be sent several times.
#[derive(Clone, Debug)]
pub(super) struct RegistryRequest {
    method: Method,
    pub(super) url: Url,
    accept: &'static str,
    content: Option<(String, Bytes)>,
}

impl RegistryRequest {
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

/// A response, and whether its request carried credentials.
pub(super) struct RegistryResponse {
    response: Response,
    with_credentials: bool,
}

impl RegistryResponse {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }
}

impl<'a> RegistrySession<'a> {
    pub(super) fn new(
        client: &'a ClientState,
        repository: &'a Repository,
        scope: TokenScope,
    ) -> Result<Self, OciError> {
        let base = client.endpoints.base(repository)?;
        let now = Instant::now();
        let deadline =
            now.checked_add(client.limits.operation).unwrap_or(now + Duration::from_hours(24 * 365));
        Ok(Self { client, repository, scope, base, deadline })
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, OciError> {
        self.base.join(path).map_err(|_| OciError::NotFound { response: "the name is invalid".to_owned() })
    }

    /// Retries transient errors with back-off, until the attempts or the deadline are used up.
    pub(super) async fn retrying<T, F>(&self, mut attempt: impl FnMut() -> F) -> Result<T, OciError>
    where
        F: Future<Output = Result<T, OciError>>,
    {
        let mut delays = self.client.limits.retry_delays();
        let attempts = async {
            loop {
                match attempt().await {
                    Err(error) if error.is_transient() => match delays.next() {
                        Some(delay) => {
                            tracing::debug!(%error, retry_in = ?delay, repository = %self.repository, "retrying");
                            sleep(delay).await;
                        }
                        None => return Err(error),
                    },
                    other => return other,
                }
            }
        };
        let expired = OciError::DeadlineExceeded(self.client.limits.operation);
        timeout_at(self.deadline, attempts).await.unwrap_or(Err(expired))
    }

    /// Sends a request; signs in if the registry asks for it, or no longer accepts the cached authorization.
    pub(super) async fn send(&self, request: &RegistryRequest) -> Result<RegistryResponse, OciError> {
        let cached = self.cached_authorization();
        let response = self.follow(request, cached.as_ref()).await?;
        let with_credentials = cached.as_ref().is_some_and(|cached| cached.with_credentials);
        // Only the registry itself may request credentials, not a host that it redirects to.
        let from_registry = response.url().origin() == self.base.origin();
        if response.status() != StatusCode::UNAUTHORIZED || !from_registry {
            return Ok(RegistryResponse { response, with_credentials });
        }
        match self.sign_in(&response).await? {
            Some(fresh) if cached.as_ref() != Some(&fresh) => {
                let response = self.follow(request, Some(&fresh)).await?;
                Ok(RegistryResponse { response, with_credentials: fresh.with_credentials })
            }
            _ => Ok(RegistryResponse { response, with_credentials }),
        }
    }

    /// Follows redirects. The authorization is sent to the registry's own origin only.
    async fn follow(
        &self,
        request: &RegistryRequest,
        authorization: Option<&Authorization>,
    ) -> Result<Response, OciError> {
        let mut url = request.url.clone();
        for _ in 0..=self.client.limits.max_redirects {
            let to_registry = url.origin() == self.base.origin();
            let response = self.send_once(request, &url, authorization.filter(|_| to_registry)).await?;
            let keeps_method = matches!(response.status().as_u16(), 307 | 308);
            if !keeps_method && !matches!(response.status().as_u16(), 301..=303) {
                return Ok(response);
            }
            if !keeps_method && !matches!(request.method, Method::GET | Method::HEAD) {
                return Err(OciError::Protocol("it redirects an upload with a status that drops its body"));
            }
            url = location(&url, &response)?;
        }
        Err(OciError::TooManyRedirects(self.client.limits.max_redirects))
    }

    async fn send_once(
        &self,
        request: &RegistryRequest,
        url: &Url,
        authorization: Option<&Authorization>,
    ) -> Result<Response, OciError> {
        let ClientState { transport, endpoints, limits, .. } = self.client;
        endpoints.check(url)?;
        let mut builder = transport.request(request.method.clone(), url)?.header(ACCEPT, request.accept);
        if let Some(authorization) = authorization {
            builder = builder.header(AUTHORIZATION, authorization.header.reveal());
        }
        let mut length = 0;
        if let Some((media_type, content)) = &request.content {
            length = content.len();
            builder = builder.header(CONTENT_TYPE, media_type).body(content.clone());
        }
        let limit = limits.response_timeout(length);
        let response = timeout(limit, builder.send()).await.map_err(|_| OciError::Timeout(limit))?;
        response.map_err(|error| transport.classify(&error).into())
    }

    /// Reads a body of at most `limit` bytes into memory.
    pub(super) async fn read_body(
        &self,
        mut response: Response,
        limit: u64,
        what: &'static str,
    ) -> Result<Vec<u8>, OciError> {
        let (idle, mut body) = (self.client.limits.idle, Vec::new());
        loop {
            let chunk = timeout(idle, response.chunk()).await.map_err(|_| OciError::Timeout(idle))?;
            match chunk.map_err(|_| TransportError::Disconnected)? {
                Some(chunk) => body.extend_from_slice(&chunk),
                None => return Ok(body),
            }
            if body.len() as u64 > limit {
                return Err(OciError::TooLarge { what, limit });
            }
        }
    }

    /// The response if it has one of these statuses, or else the error that it means.
    pub(super) async fn expect(
        &self,
        response: RegistryResponse,
        expected: &[StatusCode],
        access: RegistryAccess,
    ) -> Result<Response, OciError> {
        let RegistryResponse { response, with_credentials } = response;
        let status = response.status();
        if expected.contains(&status) {
            return Ok(response);
        }
        let body = self.read_body(response, MAX_ERROR_BYTES, "its error").await.unwrap_or_default();
        Err(error_for(status, &body, access, with_credentials))
    }
}

/// The `Location` header of a response, resolved against the URL that it came from.
pub(super) fn location(from: &Url, response: &Response) -> Result<Url, OciError> {
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    location
        .and_then(|location| from.join(location).ok())
        .ok_or(OciError::Protocol("a response has no usable Location header"))
}
