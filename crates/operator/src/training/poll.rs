//! Polls trainers: `GET /status`, with a timeout of five seconds and a limit of 4096 bytes.
//!
//! All trainers share one client and its connections. A trainer is polled when its poll is due ([`schedule`]) and not at
//! every pass over its resource: in between, the last result is used again.

pub mod report;
pub mod schedule;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

pub use self::report::TrainerReport;
use self::schedule::PollSchedule;
use super::trainer_url::TrainerUrlTemplate;
use crate::key::ObjectKey;

const TIMEOUT: Duration = Duration::from_secs(5);

const MAX_BODY_BYTES: usize = 4096;

/// Why there is no report, in a text that stays the same while nothing changes.
#[derive(Debug, thiserror::Error)]
enum PollError {
    #[error("cannot be reached")]
    Unreachable,
    #[error("closed the connection")]
    Closed,
    #[error("did not answer within {TIMEOUT:?}")]
    TimedOut,
    #[error("answered {0}")]
    Refused(u16),
    #[error("answered more than {MAX_BODY_BYTES} bytes")]
    TooLong,
    #[error("answered with an invalid report: {0}")]
    Invalid(#[from] report::InvalidReport),
}

impl From<reqwest::Error> for PollError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_connect() { Self::Unreachable } else { Self::Closed }
    }
}

/// A report, or why there is none.
pub type PollResult = Result<TrainerReport, String>;

#[derive(Debug)]
pub struct Poller {
    client: reqwest::Client,
    url: TrainerUrlTemplate,
    schedule: PollSchedule,
    last: Mutex<HashMap<ObjectKey, LastPoll>>,
}

#[derive(Clone, Debug)]
struct LastPoll {
    trainer: String,
    at: Instant,
    result: Arc<PollResult>,
    valid_for: Duration,
}

impl Poller {
    /// `interval` is the poll interval of a trainer that learns.
    pub fn new(client: reqwest::Client, url: TrainerUrlTemplate, interval: Duration) -> Self {
        Self { client, url, schedule: PollSchedule::new(interval), last: Mutex::new(HashMap::new()) }
    }

    /// The last result while it is valid, else a new one; and how long it is valid. `trainer` tells a trainer from its
    /// predecessor of the same name, whose result is not used.
    pub async fn poll(&self, training: &ObjectKey, trainer: &str) -> (Arc<PollResult>, Duration) {
        let last = self.last_poll(training).filter(|last| last.trainer == trainer);
        if let Some(last) = &last
            && let Some(left) = last.valid_for.checked_sub(last.at.elapsed())
            && !left.is_zero()
        {
            return (Arc::clone(&last.result), left);
        }
        let url = self.url.status_of(training);
        let result = match tokio::time::timeout(TIMEOUT, self.request(&url)).await {
            Ok(result) => result,
            Err(_) => Err(PollError::TimedOut),
        };
        let result = Arc::new(result.map_err(|error| format!("the trainer at {url} {error}")));
        let before = last.as_ref().map(|last| (last.result.as_ref(), last.valid_for));
        let valid_for = self.schedule.delay(before, &result);
        let at = Instant::now();
        let poll = LastPoll { trainer: trainer.to_owned(), at, result: Arc::clone(&result), valid_for };
        self.last.lock().unwrap_or_else(PoisonError::into_inner).insert(training.clone(), poll);
        (result, valid_for)
    }

    /// Drops the last result of a run that has no trainer any more.
    pub fn forget(&self, training: &ObjectKey) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).remove(training);
    }

    fn last_poll(&self, training: &ObjectKey) -> Option<LastPoll> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).get(training).cloned()
    }

    async fn request(&self, url: &str) -> Result<TrainerReport, PollError> {
        let mut response = self.client.get(url).send().await?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(PollError::Refused(response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await? {
            if body.len() + part.len() > MAX_BODY_BYTES {
                return Err(PollError::TooLong);
            }
            body.extend_from_slice(&part);
        }
        Ok(TrainerReport::parse(&body)?)
    }
}

#[cfg(test)]
mod tests;
