//! The one place where a test waits: poll a condition until it holds or a deadline passes.
//!
//! A fixed sleep is either too short on a busy machine or too long on every other; polling is neither. The
//! error says what was waited for and what was last seen, since "timed out" alone sends the reader to a debugger.

use std::fmt::Display;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The condition did not hold in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("waited {waited:?} for {what}{}", .last_seen.as_deref().map(|seen| format!("; last seen: {seen}")).unwrap_or_default())]
pub struct TimedOut {
    /// What was waited for, in the words of the caller.
    pub what: String,
    /// How long.
    pub waited: Duration,
    /// What the condition said last, if it said anything.
    pub last_seen: Option<String>,
}

/// What a polled condition may answer: `bool`, `Option<T>` or `Result<T, E>`.
pub trait Answer {
    /// What the wait yields once the condition holds.
    type Value;
    /// The value, or, while the condition does not hold, what was seen instead.
    fn settle(self) -> Result<Self::Value, Option<String>>;
}

impl Answer for bool {
    type Value = ();
    fn settle(self) -> Result<(), Option<String>> {
        if self { Ok(()) } else { Err(None) }
    }
}

impl<T> Answer for Option<T> {
    type Value = T;
    fn settle(self) -> Result<T, Option<String>> {
        self.ok_or(None)
    }
}

impl<T, E: Display> Answer for Result<T, E> {
    type Value = T;
    fn settle(self) -> Result<T, Option<String>> {
        self.map_err(|error| Some(error.to_string()))
    }
}

/// Asks `probe` again and again, at most every 100 ms, until it holds or `deadline` has passed.
///
/// A probe that hangs is abandoned at the deadline. It is asked at least once.
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
    A: Answer,
    F: FnMut() -> Fut,
    Fut: Future<Output = A>,
{
    let end = Instant::now() + deadline;
    let mut pause = FIRST_PAUSE;
    let mut last_seen = None;
    loop {
        match timeout_at(end, probe()).await.map(A::settle) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(seen)) => last_seen = seen.or(last_seen),
            Err(_) => {}
        }
        if Instant::now() + pause >= end {
            return Err(TimedOut { what: what.to_owned(), waited: deadline, last_seen });
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
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
