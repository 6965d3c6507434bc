//! One call to the API server, with its deadline.

use std::time::Duration;

use crate::error::ApiError;

/// How long an answer is waited for.
const WITHIN: Duration = Duration::from_secs(10);

pub(super) async fn call<T>(
    action: &'static str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(WITHIN, request).await {
        Ok(answer) => answer.map_err(|source| ApiError::of(action, source)),
        Err(_) => Err(ApiError::TimedOut { action, within: WITHIN }),
    }
}
