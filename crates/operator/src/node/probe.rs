//! Whether the controller answers.
//!
//! One client, one question for all nodes: whoever asks within a few seconds of another gets the same answer, and while
//! one question is under way nobody asks a second.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

/// How long the controller may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// For how long an answer is good.
const GOOD_FOR: Duration = Duration::from_secs(5);

/// Most bytes of an answer that are read, so that its connection can be used again.
const LONGEST: usize = 64 * 1024;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It answered as it should.
    Answered,
    /// It did not; why, in words that stay the same while nothing changes.
    Failed(String),
}

/// Asks.
#[derive(Debug)]
pub struct Prober {
    client: reqwest::Client,
    url: String,
    last: Mutex<Option<(Instant, Probe)>>,
}

impl Prober {
    /// `address` is that of the controller, with its scheme.
    pub fn new(client: reqwest::Client, address: &Url) -> Self {
        let url = format!("{}/healthz", address.as_str().trim_end_matches('/'));
        Self { client, url, last: Mutex::new(None) }
    }

    /// What came of the last question, or of a new one if that was a while ago.
    pub async fn ask(&self) -> Probe {
        let mut last = self.last.lock().await;
        if let Some((at, probe)) = last.as_ref()
            && at.elapsed() < GOOD_FOR
        {
            return probe.clone();
        }
        let probe = self.question().await;
        *last = Some((Instant::now(), probe.clone()));
        probe
    }

    async fn question(&self) -> Probe {
        let failed = |why: String| Probe::Failed(format!("the controller at {} {why}", self.url));
        let answer = async {
            let mut response = self.client.get(&self.url).send().await?;
            let mut left = LONGEST;
            while let Some(part) = response.chunk().await?
                && left > part.len()
            {
                left -= part.len();
            }
            Ok::<_, reqwest::Error>(response.status())
        };
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(status)) if status == reqwest::StatusCode::OK => Probe::Answered,
            Ok(Ok(status)) => failed(format!("answered {}", status.as_u16())),
            Ok(Err(error)) if error.is_connect() => failed("cannot be reached".to_owned()),
            Ok(Err(_)) => failed("ended the connection".to_owned()),
            Err(_) => failed(format!("did not answer within {PATIENCE:?}")),
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
    async fn one_question_for_all_who_ask_at_the_same_time() {
        let server = HttpServer::start(|_| Reply::file(b"ok"));
        let prober = prober(&server.url("/"));
        let answers = futures::future::join_all((0..50).map(|_| prober.ask())).await;
        assert!(answers.iter().all(|answer| *answer == Probe::Answered));
        assert_eq!((server.count("/healthz"), server.open_connections()), (1, 1));
    }

    #[tokio::test]
    async fn what_is_wrong_is_said_in_words_that_stay() {
        let server = HttpServer::start(|_| Reply::status(503));
        let url = server.url("");
        let said = prober(&url).ask().await;
        assert_eq!(said, Probe::Failed(format!("the controller at {url}/healthz answered 503")));
        drop(server);
        let said = prober(&url).ask().await;
        assert_eq!(said, Probe::Failed(format!("the controller at {url}/healthz cannot be reached")));
    }
}
