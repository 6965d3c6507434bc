//! The word that it is time to stop.

use tokio_util::sync::CancellationToken;

/// Begins once and stays begun; clones hear the same word.
#[derive(Clone, Debug, Default)]
pub struct Shutdown(CancellationToken);

impl Shutdown {
    /// Nothing has begun yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins the shutdown; a second time does nothing.
    pub fn begin(&self) {
        self.0.cancel();
    }

    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Resolves when it begins. Owned, so that it can be moved into a task.
    pub fn begun(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.clone().cancelled_owned()
    }

    /// Runs `work` until it is done or shutdown begins, whichever is first; `None` when it was cut short.
    pub async fn cuts<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.0.run_until_cancelled(work).await
    }

    /// A shutdown that begins with this one, or earlier by itself.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }
}
