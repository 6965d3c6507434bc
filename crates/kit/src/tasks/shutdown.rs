use tokio_util::sync::CancellationToken;

/// The signal to stop. It begins once and stays begun; clones share its state.
#[derive(Clone, Debug, Default)]
pub struct Shutdown(CancellationToken);

impl Shutdown {
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins the shutdown; calling it again has no effect.
    pub fn begin(&self) {
        self.0.cancel();
    }

    pub fn has_begun(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Resolves when shutdown begins. The future is owned, so that it can be moved into a task.
    pub fn begun(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.clone().cancelled_owned()
    }

    /// Runs `work` until it completes or shutdown begins, whichever is first; `None` when shutdown came first.
    pub async fn run_until_begun<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.0.run_until_cancelled(work).await
    }

    /// A shutdown that begins with this one, or earlier on its own.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }
}
