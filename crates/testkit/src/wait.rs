//! Polling with a deadline, which tests use instead of sleeping.
//!
//! A fixed sleep is either too short on a busy machine or too long on every other; polling is neither. The error says
//! what was waited for and what was last observed, since "timed out" alone does not explain a failure.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

const MIN_INTERVAL: Duration = Duration::from_millis(5);
const MAX_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("waited {waited:?} for {what}{}", .last_seen.as_deref().map(|seen| format!("; last seen: {seen}")).unwrap_or_default())]
pub struct TimedOut {
    /// The caller's description of the condition.
    pub what: String,
    pub waited: Duration,
    /// The last error that the condition returned.
    pub last_seen: Option<String>,
}

/// The result of a polled condition: `bool`, `Option<T>` or `Result<T, E>`.
pub trait PollResult {
    type Value;
    /// The value, or, while the condition does not hold, what was observed instead.
    fn into_result(self) -> Result<Self::Value, Option<String>>;
}

impl PollResult for bool {
    type Value = ();
    fn into_result(self) -> Result<(), Option<String>> {
        if self { Ok(()) } else { Err(None) }
    }
}

impl<T> PollResult for Option<T> {
    type Value = T;
    fn into_result(self) -> Result<T, Option<String>> {
        self.ok_or(None)
    }
}

impl<T, E: Display> PollResult for Result<T, E> {
    type Value = T;
    fn into_result(self) -> Result<T, Option<String>> {
        self.map_err(|error| Some(error.to_string()))
    }
}

/// Polls `probe` with an interval of at most 100 ms, until it holds or `deadline` has passed.
///
/// A probe that hangs is abandoned at the deadline. It is polled at least once.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use std::time::Duration;
/// use vmafx_testkit::wait;
///
/// let seven = wait::until(Duration::from_secs(1), "seven", || async { "7".parse::<u8>() }).await;
/// assert_eq!(seven, Ok(7));
/// # }
/// ```
pub async fn until<A, F, Fut>(deadline: Duration, what: &str, mut probe: F) -> Result<A::Value, TimedOut>
where
    A: PollResult,
    F: FnMut() -> Fut,
    Fut: Future<Output = A>,
{
    let end = Instant::now() + deadline;
    let mut interval = MIN_INTERVAL;
    let mut last_seen = None;
    loop {
        match timeout_at(end, probe()).await.map(A::into_result) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(seen)) => last_seen = seen.or(last_seen),
            Err(_) => {}
        }
        if Instant::now() + interval >= end {
            return Err(TimedOut { what: what.to_owned(), waited: deadline, last_seen });
        }
        sleep(interval).await;
        interval = (interval * 2).min(MAX_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(3);

    #[tokio::test(start_paused = true)]
    async fn yields_the_value_once_the_condition_holds() {
        let mut asked = 0;
        let value = until(DEADLINE, "the third answer", || {
            asked += 1;
            let answer = (asked == 3).then_some(asked);
            async move { answer }
        })
        .await;
        assert_eq!(value, Ok(3));
    }

    #[tokio::test(start_paused = true)]
    async fn the_error_says_what_was_waited_for_and_last_seen() {
        let start = Instant::now();
        let error = until(DEADLINE, "the pod", || async { Err::<(), _>("Pending") }).await.unwrap_err();
        assert_eq!(error.to_string(), "waited 3s for the pod; last seen: Pending");
        assert!(start.elapsed() <= DEADLINE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_hangs_is_abandoned_at_the_deadline() {
        let error = until(DEADLINE, "godot", std::future::pending::<bool>).await.unwrap_err();
        assert_eq!(error.to_string(), "waited 3s for godot");
    }
}
