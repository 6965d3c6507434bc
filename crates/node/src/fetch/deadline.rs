//! The total time of a fetch, and its retries.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::error::FetchProblem;
use super::settings::FetchLimits;

/// The deadline of a fetch with all its attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FetchDeadline {
    at: Instant,
    total: Duration,
}

impl FetchDeadline {
    pub(crate) fn of(limits: &FetchLimits) -> Self {
        let now = Instant::now();
        let at = now.checked_add(limits.total).unwrap_or(now + Duration::from_hours(365 * 24));
        Self { at, total: limits.total }
    }

    /// The result of the future, or [`FetchProblem::Overdue`].
    pub(crate) async fn within<T>(
        self,
        future: impl Future<Output = Result<T, FetchProblem>>,
    ) -> Result<T, FetchProblem> {
        timeout_at(self.at, future).await.unwrap_or(Err(FetchProblem::Overdue(self.total)))
    }

    /// Retries while the problem is transient and attempts are left.
    pub(crate) async fn retrying<T, F>(
        self,
        limits: &FetchLimits,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, FetchProblem>
    where
        F: Future<Output = Result<T, FetchProblem>>,
    {
        let mut delays = limits.retry_delays();
        self.within(async {
            loop {
                match attempt().await {
                    Err(problem) if problem.is_transient() => match delays.next() {
                        Some(delay) => {
                            tracing::debug!(%problem, ?delay, "retrying the fetch");
                            sleep(delay).await;
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
