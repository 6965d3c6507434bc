//! Attempts, and the time they may take.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::error::Problem;
use super::settings::Limits;

/// The end of a whole fetch, with all its attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    whole: Duration,
}

impl Deadline {
    pub(crate) fn of(limits: &Limits) -> Self {
        let now = Instant::now();
        let at = now.checked_add(limits.whole).unwrap_or(now + Duration::from_hours(365 * 24));
        Self { at, whole: limits.whole }
    }

    /// The future's result, unless time runs out.
    pub(crate) async fn within<T>(
        self,
        future: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        timeout_at(self.at, future).await.unwrap_or(Err(Problem::Overdue(self.whole)))
    }

    /// Asks again while the problem may pass and attempts are left.
    pub(crate) async fn retrying<T, F>(
        self,
        limits: &Limits,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Problem>
    where
        F: Future<Output = Result<T, Problem>>,
    {
        let mut pauses = limits.pauses();
        self.within(async {
            loop {
                match attempt().await {
                    Err(problem) if problem.is_transient() => match pauses.next() {
                        Some(pause) => {
                            tracing::debug!(%problem, ?pause, "another attempt follows");
                            sleep(pause).await;
                        }
                        None => return Err(problem),
                    },
                    other => return other,
                }
            }
        })
        .await
    }
}
