//! Probes whether the controller answers.
//!
//! All nodes share one client and one request: callers within a few seconds of each other get the same answer, and no
//! second request is sent while one is in progress.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use crate::http_client::ReloadingClient;

const TIMEOUT: Duration = Duration::from_secs(5);

/// How long an answer is used again.
const VALID_FOR: Duration = Duration::from_secs(5);

/// The body is read up to this size, so that its connection can be used again.
const MAX_BODY_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerProbe {
    Answered,
    /// Why it did not, in a text that stays the same while nothing changes.
    Failed(String),
}

/// The result of a probe, and when it was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedController {
    pub probe: ControllerProbe,
    pub at: Timestamp,
}

#[derive(Debug)]
pub struct Prober {
    client: ReloadingClient,
    url: String,
    last: Mutex<Option<(Instant, ProbedController)>>,
}

impl Prober {
    /// `address` is that of the controller, with its scheme.
    pub fn new(client: impl Into<ReloadingClient>, address: &Url) -> Self {
        let client = client.into();
        let url = format!("{}/healthz", address.as_str().trim_end_matches('/'));
        Self { client, url, last: Mutex::new(None) }
    }

    /// The last answer while it is valid, else a new one.
    pub async fn ask(&self) -> ProbedController {
        let mut last = self.last.lock().await;
        if let Some((at, probed)) = last.as_ref()
            && at.elapsed() < VALID_FOR
        {
            return probed.clone();
        }
        let probed = ProbedController { probe: self.request().await, at: Timestamp::now() };
        *last = Some((Instant::now(), probed.clone()));
        probed
    }

    async fn request(&self) -> ControllerProbe {
        let failed = |why: String| ControllerProbe::Failed(format!("the controller at {} {why}", self.url));
        let answer = async {
            let mut response = self.client.get().await.get(&self.url).send().await?;
            let mut left = MAX_BODY_BYTES;
            while let Some(part) = response.chunk().await?
                && left > part.len()
            {
                left -= part.len();
            }
            Ok::<_, reqwest::Error>(response.status())
        };
        match tokio::time::timeout(TIMEOUT, answer).await {
            Ok(Ok(status)) if status == reqwest::StatusCode::OK => ControllerProbe::Answered,
            Ok(Ok(status)) => failed(format!("answered {}", status.as_u16())),
            Ok(Err(error)) if error.is_connect() => failed("cannot be reached".to_owned()),
            Ok(Err(_)) => failed("closed the connection".to_owned()),
            Err(_) => failed(format!("did not answer within {TIMEOUT:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use vmafx_testkit::http_server::{HttpServer, Reply};

    use super::*;

    fn prober(url: &str) -> Prober {
        vmafx_kit::tls::install_crypto_provider();
        Prober::new(reqwest::Client::new(), &Url::parse(url).unwrap())
    }

    #[tokio::test]
    async fn concurrent_callers_share_one_request() {
        let server = HttpServer::start(|_| Reply::file(b"ok"));
        let prober = prober(&server.url("/"));
        let answers = futures::future::join_all((0..50).map(|_| prober.ask())).await;
        assert!(answers.iter().all(|answer| answer.probe == ControllerProbe::Answered));
        assert_eq!((server.count("/healthz"), server.open_connections()), (1, 1));
    }

    #[tokio::test]
    async fn a_failed_probe_has_a_stable_text() {
        let server = HttpServer::start(|_| Reply::status(503));
        let url = server.url("");
        let probe = prober(&url).ask().await.probe;
        assert_eq!(probe, ControllerProbe::Failed(format!("the controller at {url}/healthz answered 503")));
        drop(server);
        let probe = prober(&url).ask().await.probe;
        assert_eq!(
            probe,
            ControllerProbe::Failed(format!("the controller at {url}/healthz cannot be reached"))
        );
    }
}
