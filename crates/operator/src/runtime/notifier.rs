//! The way from watches to a controller, which is not always there.
//!
//! Watches run in every operator, so that one that takes over knows everything already. Only the one that leads has
//! controllers; keys that are told to nobody are dropped, and a controller that begins starts with all keys there are.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::key::ObjectKey;

/// Keys on their way to the queue, where a key takes one place however often it is named.
const INBOX: usize = 256;

/// Clones tell the same controller.
#[derive(Clone, Debug, Default)]
pub struct Notifier(Arc<Mutex<Option<mpsc::Sender<ObjectKey>>>>);

impl Notifier {
    /// From now on keys come here; whoever listened before hears nothing any more.
    pub fn subscribe(&self) -> mpsc::Receiver<ObjectKey> {
        let (sender, receiver) = mpsc::channel(INBOX);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    /// Tells whoever listens. Waits while that one is behind.
    pub async fn notify(&self, key: ObjectKey) {
        let listening = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(listening) = listening {
            // It may have ended in between; the next one begins with all keys.
            let _ = listening.send(key).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keys_go_to_the_last_who_listens_and_nobody_blocks_when_nobody_does() {
        let (notifier, key) = (Notifier::default(), ObjectKey::new("video", "a"));
        for _ in 0..2 * INBOX {
            notifier.notify(key.clone()).await;
        }
        let mut first = notifier.subscribe();
        notifier.notify(key.clone()).await;
        assert_eq!(first.recv().await, Some(key.clone()));
        let mut second = notifier.subscribe();
        assert_eq!(first.recv().await, None);
        notifier.notify(key.clone()).await;
        assert_eq!(second.recv().await, Some(key.clone()));
        drop(second);
        notifier.notify(key).await;
    }
}
