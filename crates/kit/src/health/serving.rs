use std::sync::Arc;

use tokio::sync::watch;

/// Whether this process can answer calls at all. It is a stronger statement than readiness: a server that does not serve
/// refuses calls, and sends its clients to another server. Clones share the state.
#[derive(Clone, Debug)]
pub struct ServingSignal(Arc<watch::Sender<bool>>);

impl Default for ServingSignal {
    /// Serves.
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(true)))
    }
}

impl ServingSignal {
    pub fn set(&self, serving: bool) {
        self.0.send_if_modified(|current| std::mem::replace(current, serving) != serving);
    }

    pub fn is_serving(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves as soon as the process does not serve.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        self.becomes(false)
    }

    /// Resolves as soon as the process serves.
    pub fn started(&self) -> impl Future<Output = ()> + Send + use<> {
        self.becomes(true)
    }

    /// Resolves when the process served and then stopped. A process that does not serve now must serve first.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let (started, stopped) = (self.started(), self.stopped());
        async {
            started.await;
            stopped.await;
        }
    }

    fn becomes(&self, state: bool) -> impl Future<Output = ()> + Send + use<> {
        let (mut changes, sender) = (self.0.subscribe(), self.0.clone());
        async move {
            // An error would mean that the sender is gone, and this future holds it.
            let _ = changes.wait_for(|serving| *serving == state).await;
            drop(sender);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn a_loss_is_a_change_and_not_a_state() {
        let signal = ServingSignal::default();
        signal.set(false);
        let (mut stopped, mut lost) = (Box::pin(signal.stopped()), Box::pin(signal.lost()));
        assert!(poll!(&mut stopped).is_ready());
        assert!(poll!(&mut lost).is_pending());
        signal.set(true);
        assert!(poll!(&mut lost).is_pending());
        signal.set(false);
        assert!(poll!(&mut lost).is_ready());
        assert!(!signal.is_serving());
    }
}
