//! The few requests of the OCI distribution protocol that a pull needs.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;
use url::Url;
use url::form_urlencoded::Serializer;
use vmafx_kit::config::{HostPort, Secret};

use super::challenge::Challenge;
use super::credentials::{Credentials, Login, is_hub};
use super::manifest::{Layer, model_layer};
use super::reference::{Digest, Reference};
use super::{ArtifactError, MODEL};
use crate::fetch::web::{judge, redirect_target};
use crate::fetch::{Deadline, Fetcher, Limits, Problem, Tools};
use crate::paths::network::Reach;
use crate::scratch::{Patience, ScratchFile};

/// Longest manifest; distribution's own registry takes no longer ones.
const MANIFEST: usize = 4 << 20;

/// Longest answer with a token.
const TOKEN: usize = 64 << 10;

/// A model is small: whoever needs longer is not coming.
const WHOLE: Duration = Duration::from_mins(5);

/// Registries live in private networks. Never link-local, whoever sends us there.
const REACH: Reach = Reach::Named;

const MANIFESTS: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

#[derive(Debug)]
pub(super) struct Registry {
    tools: Arc<Tools>,
    limits: Limits,
    credentials: Credentials,
    plain: Vec<String>,
}

impl Registry {
    pub(super) fn new(fetcher: &Fetcher, credentials: Credentials, plain: Vec<String>) -> Self {
        let tools = Arc::clone(fetcher.tools());
        let limits = Limits { whole: WHOLE.min(tools.limits.whole), ..tools.limits.clone() };
        Self { tools, limits, credentials, plain }
    }

    /// What one pull needs.
    pub(super) fn session<'a>(&'a self, reference: &'a Reference) -> Result<Session<'a>, ArtifactError> {
        let host = if is_hub(&reference.registry) { "registry-1.docker.io" } else { &reference.registry };
        let scheme = if self.may_be_plain(host) { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{host}/v2/{}/", reference.repository));
        let base = base.map_err(|_| Problem::NotFound("the registry is no host".to_owned()))?;
        let deadline = Deadline::of(&self.limits);
        Ok(Session { registry: self, reference, base, authorization: None, deadline })
    }

    /// Whether TLS may be left out: on this machine, and where an administrator says so.
    fn may_be_plain(&self, host: &str) -> bool {
        let here = |host: &str| host.parse().is_ok_and(|host: HostPort| host.is_loopback());
        self.plain.iter().any(|plain| plain == host) || here(host) || here(&format!("{host}:80"))
    }

    /// Whether a place that a registry sends us to may be asked.
    fn may_ask(&self, url: &Url) -> Result<(), ArtifactError> {
        let host = url.host_str().unwrap_or_default();
        let with_port = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let allowed = url.scheme() == "https" || (url.scheme() == "http" && self.may_be_plain(&with_port));
        if allowed { Ok(()) } else { Err(ArtifactError::Plain(with_port)) }
    }
}

/// One pull, with the token that it has got.
pub(super) struct Session<'a> {
    registry: &'a Registry,
    reference: &'a Reference,
    base: Url,
    authorization: Option<Secret>,
    deadline: Deadline,
}

impl Session<'_> {
    /// Asks what the reference means, and which layer of it is the model.
    pub(super) async fn model_layer(&mut self) -> Result<Layer, ArtifactError> {
        let pinned = self.reference.digest.clone();
        let name = pinned.as_ref().map_or_else(|| self.reference.tag.clone(), Digest::to_string);
        let answer = self.get(&format!("manifests/{name}"), MANIFESTS).await?;
        let manifest = self.whole(answer, MANIFEST).await?;
        if let Some(expected) = pinned
            && Digest::of(&manifest) != expected
        {
            return Err(ArtifactError::Digest { what: "its manifest", expected });
        }
        Ok(model_layer(&manifest)?)
    }

    /// Gets a layer into a file. What does not have its digest is thrown away.
    pub(super) async fn blob(&mut self, layer: &Layer) -> Result<ScratchFile, ArtifactError> {
        let mut pauses = self.registry.limits.pauses();
        loop {
            match self.blob_once(layer).await {
                Err(ArtifactError::Fetch(problem)) if problem.is_transient() => {
                    let Some(pause) = pauses.next() else { return Err(problem.into()) };
                    tokio::time::sleep(pause).await;
                }
                other => return other,
            }
        }
    }

    async fn blob_once(&mut self, layer: &Layer) -> Result<ScratchFile, ArtifactError> {
        let answer = self.get(&format!("blobs/{}", layer.digest), "*/*").await?;
        let mut file = self.registry.tools.scratch.file().map_err(Problem::from)?;
        file.reserve(layer.size, Patience::Waits).await.map_err(Problem::from)?;
        let mut hash = Sha256::new();
        let mut body = answer.bytes_stream();
        let idle = self.registry.limits.idle;
        while let Some(piece) = timeout(idle, body.next()).await.map_err(|_| silent(idle))? {
            let piece = piece.map_err(|_| cut(file.length(), layer.size))?;
            if file.length() + piece.len() as u64 > layer.size.min(MODEL) {
                return Err(ArtifactError::TooLarge);
            }
            hash.update(&piece);
            file.write(&piece).await.map_err(Problem::from)?;
        }
        if file.length() < layer.size {
            return Err(cut(file.length(), layer.size).into());
        }
        if Digest::from_hash(&hash.finalize()) != layer.digest {
            return Err(ArtifactError::Digest { what: "its layer", expected: layer.digest.clone() });
        }
        file.finish().await.map_err(Problem::from)?;
        Ok(file)
    }

    /// Asks below the repository, signs in if the registry wants that, and follows it elsewhere without the token.
    async fn get(&mut self, below: &str, accept: &str) -> Result<Response, ArtifactError> {
        let url = self.base.join(below).map_err(|_| Problem::NotFound("no such name".to_owned()))?;
        let answer = self.follow(&url, accept).await?;
        if answer.status() != StatusCode::UNAUTHORIZED || self.authorization.is_some() {
            return accepted(answer);
        }
        let challenges = answer.headers().get_all(WWW_AUTHENTICATE);
        let challenge = challenges.iter().filter_map(|value| value.to_str().ok()).find_map(Challenge::parse);
        let login = self.registry.credentials.find(&self.reference.registry);
        self.authorization = match (challenge, login) {
            (Some(Challenge::Bearer { realm, service }), login) => {
                Some(secret(&format!("Bearer {}", self.token(&realm, service, login).await?)))
            }
            (Some(Challenge::Basic), Some(login)) => basic(&login),
            _ => return accepted(answer),
        };
        accepted(self.follow(&url, accept).await?)
    }

    async fn follow(&self, url: &Url, accept: &str) -> Result<Response, ArtifactError> {
        let web = &self.registry.tools.web;
        let mut url = url.clone();
        for _ in 0..=web.redirects {
            let ours = url.origin() == self.base.origin();
            let request = || {
                let request = web.request(Method::GET, &url, REACH)?.header(ACCEPT, accept);
                Ok(match &self.authorization {
                    Some(authorization) if ours => request.header(AUTHORIZATION, authorization.reveal()),
                    _ => request,
                })
            };
            let answer = self.send(request).await?;
            match redirect_target(&url, &answer) {
                None => return Ok(answer),
                Some(target) => {
                    let target = target?;
                    self.registry.may_ask(&target)?;
                    url = target;
                }
            }
        }
        Err(Problem::TooManyRedirects(web.redirects).into())
    }

    /// Sends, and sends again while the answer may get better.
    async fn send(
        &self,
        request: impl Fn() -> Result<RequestBuilder, Problem>,
    ) -> Result<Response, ArtifactError> {
        let attempt = || async {
            let answer = self.registry.tools.web.send(request()?).await?;
            let problem = judge(answer.status());
            if !answer.status().is_success() && problem.is_transient() { Err(problem) } else { Ok(answer) }
        };
        Ok(self.deadline.retrying(&self.registry.limits, attempt).await?)
    }

    /// Gets a token that may pull from the repository.
    async fn token(
        &self,
        realm: &str,
        service: Option<String>,
        login: Option<Login>,
    ) -> Result<String, ArtifactError> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(alias = "access_token")]
            token: Option<String>,
        }
        let realm = Url::parse(realm)
            .map_err(|_| Problem::Denied("the registry names no place for tokens".to_owned()))?;
        self.registry.may_ask(&realm)?;
        let web = &self.registry.tools.web;
        let query = {
            let mut query = Serializer::new(String::new());
            query.append_pair("scope", &format!("repository:{}:pull", self.reference.repository));
            if let Some(service) = &service {
                query.append_pair("service", service);
            }
            query.finish()
        };
        let request = || match &login {
            Some(Login::Identity(token)) => {
                let mut form = Serializer::new(query.clone());
                form.append_pair("grant_type", "refresh_token").append_pair("client_id", "vmafx");
                form.append_pair("refresh_token", token.reveal());
                let request = web.request(Method::POST, &realm, REACH)?;
                Ok(request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form.finish()))
            }
            login => {
                let mut url = realm.clone();
                let kept = url
                    .query()
                    .filter(|kept| !kept.is_empty())
                    .map(|kept| format!("{kept}&"))
                    .unwrap_or_default();
                url.set_query(Some(&format!("{kept}{query}")));
                let request = web.request(Method::GET, &url, REACH)?;
                Ok(match login.as_ref().and_then(basic) {
                    Some(basic) => request.header(AUTHORIZATION, basic.reveal()),
                    None => request,
                })
            }
        };
        let answer = accepted(self.send(request).await?)?;
        let body = self.whole(answer, TOKEN).await?;
        let answer: Option<Answer> = serde_json::from_slice(&body).ok();
        let token = answer.and_then(|answer| answer.token).filter(|token| !token.is_empty());
        Ok(token.ok_or_else(|| Problem::Denied("the registry gave no token".to_owned()))?)
    }

    /// A short body.
    async fn whole(&self, answer: Response, limit: usize) -> Result<Vec<u8>, ArtifactError> {
        let mut whole = Vec::new();
        let mut body = answer.bytes_stream();
        let read = async {
            while let Some(piece) = body.next().await {
                whole.extend_from_slice(&piece.map_err(|_| cut(whole.len() as u64, 0))?);
                if whole.len() > limit {
                    return Err(Problem::TooLarge { length: None, limit: limit as u64 });
                }
            }
            Ok(())
        };
        self.deadline.within(read).await?;
        Ok(whole)
    }
}

fn accepted(answer: Response) -> Result<Response, ArtifactError> {
    if answer.status() == StatusCode::OK { Ok(answer) } else { Err(judge(answer.status()).into()) }
}

fn basic(login: &Login) -> Option<Secret> {
    use base64::Engine as _;
    let Login::Password { user, password } = login else { return None };
    let both = format!("{user}:{}", password.reveal());
    Some(secret(&format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both))))
}

fn secret(text: &str) -> Secret {
    text.parse().unwrap_or_else(|never| match never {})
}

fn silent(limit: Duration) -> Problem {
    Problem::Silent { what: "the registry", limit }
}

fn cut(got: u64, of: u64) -> Problem {
    Problem::Cut { got, of: of.to_string() }
}
