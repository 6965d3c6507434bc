//! Group commit: concurrent requests are sent to the server as one statement in one transaction.
//!
//! No request waits for others. A batch starts as soon as no batch with its key is in flight, and contains all
//! requests that arrived in the meantime: an idle store adds no delay, and a busy one pays for one sync instead of
//! fifty. A batch belongs to the batcher and not to a caller, so a cancelled caller does not affect the others.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::error::{ErrorClass, classify, shared_error};
use crate::store::{StoreError, StoreResult};

/// Maximum number of batches in flight, at most one for each key: two would be half as large each, and a
/// transaction costs the server more than the rows in it.
const MAX_CONCURRENT_BATCHES: usize = 4;
/// Requests that a batcher holds before further callers wait to enqueue theirs.
const MAX_QUEUED: usize = 4096;

/// An operation that serves several callers in one transaction.
pub(super) trait BatchOperation: Send + Sync + 'static {
    /// Requests with the same key can share a transaction.
    type Key: Clone + Eq + Hash + Send + Sync;
    type Item: Send + Sync;
    type Answer: Send;
    const MAX_BATCH_SIZE: usize;

    /// Returns one answer for each item, in the same order.
    fn run(
        &self,
        key: &Self::Key,
        items: &[Self::Item],
    ) -> impl Future<Output = StoreResult<Vec<Self::Answer>>> + Send;
}

type Reply<B> = oneshot::Sender<StoreResult<<B as BatchOperation>::Answer>>;

struct BatchRequest<B: BatchOperation> {
    key: B::Key,
    item: B::Item,
    reply: Reply<B>,
}

/// Enqueues the requests of callers.
pub(super) struct Batcher<B: BatchOperation>(Mutex<Option<mpsc::Sender<BatchRequest<B>>>>);

impl<B: BatchOperation> Batcher<B> {
    pub(super) fn start(batch: B, tasks: &mut JoinSet<()>) -> Self {
        let (sender, inbox) = mpsc::channel(MAX_QUEUED);
        tasks.spawn(run_batches(batch, inbox));
        Self(Mutex::new(Some(sender)))
    }

    /// Refuses new requests; those enqueued before are still processed.
    pub(super) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(super) async fn run(&self, key: B::Key, item: B::Item) -> StoreResult<B::Answer> {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sender = sender.ok_or(StoreError::Closed)?;
        let (reply, answer) = oneshot::channel();
        sender.send(BatchRequest { key, item, reply }).await.map_err(|_| StoreError::Closed)?;
        drop(sender);
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

type BatchRequests<B> = Vec<(<B as BatchOperation>::Item, Reply<B>)>;

struct PendingBatches<B: BatchOperation> {
    waiting: HashMap<B::Key, BatchRequests<B>>,
    /// Keys with waiting requests, the longest waiting first.
    turn_order: VecDeque<B::Key>,
    in_flight: HashSet<B::Key>,
    queued: usize,
}

impl<B: BatchOperation> PendingBatches<B> {
    fn add(&mut self, request: BatchRequest<B>) {
        let of_key = self.waiting.entry(request.key.clone()).or_default();
        if of_key.is_empty() {
            self.turn_order.push_back(request.key);
        }
        of_key.push((request.item, request.reply));
        self.queued += 1;
    }

    /// The next batch that can start.
    fn next(&mut self) -> Option<(B::Key, BatchRequests<B>)> {
        let free = |key: &B::Key| !self.in_flight.contains(key);
        let key = self.turn_order.iter().position(free).and_then(|at| self.turn_order.remove(at))?;
        let mut requests = self.waiting.remove(&key)?;
        if requests.len() > B::MAX_BATCH_SIZE {
            let rest = requests.split_off(B::MAX_BATCH_SIZE);
            self.waiting.insert(key.clone(), rest);
            self.turn_order.push_back(key.clone());
        }
        self.queued -= requests.len();
        self.in_flight.insert(key.clone());
        Some((key, requests))
    }
}

async fn run_batches<B: BatchOperation>(batch: B, mut inbox: mpsc::Receiver<BatchRequest<B>>) {
    let batch = Arc::new(batch);
    let mut pending = PendingBatches {
        waiting: HashMap::new(),
        turn_order: VecDeque::new(),
        in_flight: HashSet::new(),
        queued: 0,
    };
    let mut in_flight = FuturesUnordered::new();
    let mut arrived = Vec::new();
    let mut open = true;
    loop {
        while in_flight.len() < MAX_CONCURRENT_BATCHES
            && let Some((key, requests)) = pending.next()
        {
            in_flight.push(run_batch(batch.clone(), key, requests));
        }
        tokio::select! {
            count = inbox.recv_many(&mut arrived, B::MAX_BATCH_SIZE), if open && pending.queued < MAX_QUEUED => {
                open = count > 0;
                arrived.drain(..).for_each(|request| pending.add(request));
            }
            Some(key) = in_flight.next(), if !in_flight.is_empty() => {
                pending.in_flight.remove(&key);
            }
            else => return,
        }
    }
}

/// Runs a batch. If the server rejects it, every request is run alone, so that one bad value does not fail the
/// others.
async fn run_batch<B: BatchOperation>(
    batch: Arc<B>,
    key: B::Key,
    requests: Vec<(B::Item, Reply<B>)>,
) -> B::Key {
    let (items, replies): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
    match batch.run(&key, &items).await {
        Ok(answers) => {
            for (reply, answer) in replies.into_iter().zip(answers) {
                // The caller may have been cancelled.
                let _ = reply.send(Ok(answer));
            }
        }
        Err(error) if items.len() > 1 && classify(&error) == ErrorClass::Rejected => {
            for (reply, item) in replies.into_iter().zip(&items) {
                let answer = batch.run(&key, std::slice::from_ref(item)).await;
                let _ = reply.send(answer.and_then(|mut answers| answers.pop().ok_or(StoreError::Closed)));
            }
        }
        Err(error) => {
            let error = shared_error(error);
            for reply in replies {
                drop(reply.send(Err(error())));
            }
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio::sync::{Notify, Semaphore};

    use super::*;

    /// Answers with the size of its batch when the semaphore permits.
    struct BatchSizes {
        permits: Arc<Semaphore>,
        started: Arc<Notify>,
    }

    impl BatchOperation for BatchSizes {
        type Key = &'static str;
        type Item = u32;
        type Answer = (u32, usize);
        const MAX_BATCH_SIZE: usize = 8;

        async fn run(&self, _: &&'static str, items: &[u32]) -> StoreResult<Vec<(u32, usize)>> {
            self.started.notify_one();
            self.permits.acquire().await.unwrap().forget();
            Ok(items.iter().map(|item| (*item, items.len())).collect())
        }
    }

    fn batcher() -> (Arc<Batcher<BatchSizes>>, Arc<Semaphore>, Arc<Notify>, JoinSet<()>) {
        let (permits, started) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
        let mut tasks = JoinSet::new();
        let batcher =
            Batcher::start(BatchSizes { permits: permits.clone(), started: started.clone() }, &mut tasks);
        (Arc::new(batcher), permits, started, tasks)
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_come_meanwhile_share_a_batch() {
        let (batcher, permits, started, _tasks) = batcher();
        let mut first = JoinSet::new();
        let first_batcher = batcher.clone();
        first.spawn(async move { first_batcher.run("a", 1).await.unwrap() });
        started.notified().await;
        let rest = join_all((2..22).map(|number| batcher.run("a", number)));
        let more = async {
            tokio::task::yield_now().await;
            permits.add_permits(99);
        };
        let (rest, ()) = futures::join!(rest, more);
        let sizes: Vec<_> = rest.into_iter().map(Result::unwrap).collect();
        let expected: Vec<_> = (2..22).map(|number| (number, if number < 18 { 8 } else { 4 })).collect();
        assert_eq!(sizes, expected);
        assert_eq!(first.join_all().await, [(1, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_batcher_finishes_what_it_has_and_takes_nothing_more() {
        let (batcher, permits, started, mut tasks) = batcher();
        let waiting = batcher.run("a", 1);
        let closing = async {
            started.notified().await;
            batcher.close();
            permits.add_permits(9);
        };
        let (answer, ()) = futures::join!(waiting, closing);
        assert_eq!(answer.unwrap(), (1, 1));
        assert!(matches!(batcher.run("a", 2).await, Err(StoreError::Closed)));
        tasks.join_next().await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn one_key_does_not_keep_another_waiting() {
        let (batcher, permits, started, _tasks) = batcher();
        let mut callers = JoinSet::new();
        for key in ["a", "a", "a", "b"] {
            let batcher = batcher.clone();
            callers.spawn(async move { batcher.run(key, 0).await.unwrap() });
        }
        // One batch of "a" and the one of "b" start although no permit has been added.
        for _ in 0..2 {
            started.notified().await;
        }
        permits.add_permits(9);
        assert_eq!(callers.join_all().await.len(), 4);
    }
}
