//! Asks trainers how they are: `GET /status`, within five seconds, at most 4096 bytes.
//!
//! One client for all, so that connections are used again. A trainer is asked when it is time ([`schedule`]) and not at
//! every pass over its resource: in between, what it said last is what is known.

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

/// How long a trainer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most bytes of an answer.
const LONGEST: usize = 4096;

/// Why there is no report, in words that stay the same while nothing changes.
#[derive(Debug, thiserror::Error)]
enum PollError {
    #[error("cannot be reached")]
    Unreachable,
    #[error("ended the connection")]
    Ended,
    #[error("did not answer within {PATIENCE:?}")]
    TimedOut,
    #[error("answered {0}")]
    Refused(u16),
    #[error("answered more than {LONGEST} bytes")]
    TooLong,
    #[error("answered what makes no sense: {0}")]
    InvalidReport(#[from] report::InvalidReport),
}

impl From<reqwest::Error> for PollError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_connect() { Self::Unreachable } else { Self::Ended }
    }
}

/// What came of a question; if nothing, why, for people.
pub type PollResult = Result<TrainerReport, String>;

/// Asks.
#[derive(Debug)]
pub struct Poller {
    client: reqwest::Client,
    address: TrainerUrlTemplate,
    schedule: PollSchedule,
    last: Mutex<HashMap<ObjectKey, Last>>,
}

/// The last question to a trainer.
#[derive(Clone, Debug)]
struct Last {
    whom: String,
    at: Instant,
    answer: Arc<PollResult>,
    pause: Duration,
}

impl Poller {
    /// `every` is between two questions to a trainer that learns.
    pub fn new(client: reqwest::Client, address: TrainerUrlTemplate, every: Duration) -> Self {
        Self { client, address, schedule: PollSchedule::new(every), last: Mutex::new(HashMap::new()) }
    }

    /// What the trainer of a run says, and how long that is good. `whom` tells it from an earlier one of its name, of
    /// which nothing is remembered.
    pub async fn ask(&self, training: &ObjectKey, whom: &str) -> (Arc<PollResult>, Duration) {
        let last = self.remembered(training).filter(|last| last.whom == whom);
        if let Some(last) = &last
            && let Some(left) = last.pause.checked_sub(last.at.elapsed())
            && !left.is_zero()
        {
            return (Arc::clone(&last.answer), left);
        }
        let url = self.address.status_of(training);
        let answer = match tokio::time::timeout(PATIENCE, self.question(&url)).await {
            Ok(answer) => answer,
            Err(_) => Err(PollError::TimedOut),
        };
        let answer = Arc::new(answer.map_err(|error| format!("the trainer at {url} {error}")));
        let before = last.as_ref().map(|last| (last.answer.as_ref(), last.pause));
        let pause = self.schedule.pause(before, &answer);
        let asked = Last { whom: whom.to_owned(), at: Instant::now(), answer: Arc::clone(&answer), pause };
        self.last.lock().unwrap_or_else(PoisonError::into_inner).insert(training.clone(), asked);
        (answer, pause)
    }

    /// Nobody is there to be asked any more.
    pub fn forget(&self, training: &ObjectKey) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).remove(training);
    }

    fn remembered(&self, training: &ObjectKey) -> Option<Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).get(training).cloned()
    }

    async fn question(&self, url: &str) -> Result<TrainerReport, PollError> {
        let mut response = self.client.get(url).send().await?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(PollError::Refused(response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await? {
            if body.len() + part.len() > LONGEST {
                return Err(PollError::TooLong);
            }
            body.extend_from_slice(&part);
        }
        Ok(TrainerReport::parse(&body)?)
    }
}

#[cfg(test)]
mod tests;
