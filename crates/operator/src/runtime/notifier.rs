//! Passes keys from watches to a controller, if there is one.
//!
//! Watches run in every replica, so that the caches of a new leader are complete. Only the leader has controllers; keys
//! without a subscriber are dropped, and a controller starts with the keys of all cached resources.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::key::ObjectKey;

/// Capacity of the channel to the queue, in which a key is stored once however often it is notified.
const CAPACITY: usize = 256;

/// Clones notify the same subscriber.
#[derive(Clone, Debug, Default)]
pub struct Notifier(Arc<Mutex<Option<mpsc::Sender<ObjectKey>>>>);

impl Notifier {
    /// Replaces the subscriber.
    pub fn subscribe(&self) -> mpsc::Receiver<ObjectKey> {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        receiver
    }

    /// Waits while the subscriber's channel is full.
    pub async fn notify(&self, key: ObjectKey) {
        let subscriber = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(subscriber) = subscriber {
            // An error means that the subscriber has stopped; the next one starts with all keys.
            let _ = subscriber.send(key).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keys_go_to_the_last_subscriber_and_are_dropped_without_one() {
        let (notifier, key) = (Notifier::default(), ObjectKey::new("video", "a"));
        for _ in 0..2 * CAPACITY {
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
