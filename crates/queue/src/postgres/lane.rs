//! Group commit: what several callers want at once goes to the server as one statement in one transaction.
//!
//! Nobody waits for company. A batch leaves as soon as none with its key is under way, and takes with
//! it whatever has gathered since: an idle store adds no delay, and a busy one pays for one sync where it would have
//! paid for fifty. A batch belongs to its lane and not to a caller, so a caller who gives up takes nobody along.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::error::{Kind, for_all, kind};
use crate::store::StoreError;

/// Batches under way at once. One for each key: two would be half as large each, and a transaction costs the server
/// more than the rows in it.
const AT_ONCE: usize = 4;
/// Orders that may wait in a lane before callers wait outside.
const WAITING: usize = 4096;

/// Work that can be done for several callers at once.
pub(super) trait Batch: Send + Sync + 'static {
    /// Callers with the same key can share a transaction.
    type Key: Clone + Eq + Hash + Send + Sync;
    /// What one of them wants.
    type Item: Send + Sync;
    /// What one of them gets.
    type Answer: Send;
    /// Most of them in one transaction.
    const MOST: usize;

    /// Does it: as many answers as items, in the same order.
    fn run(
        &self,
        key: &Self::Key,
        items: &[Self::Item],
    ) -> impl Future<Output = Result<Vec<Self::Answer>, StoreError>> + Send;
}

type Reply<B> = oneshot::Sender<Result<<B as Batch>::Answer, StoreError>>;

struct Order<B: Batch> {
    key: B::Key,
    item: B::Item,
    reply: Reply<B>,
}

/// Where callers leave what they want.
pub(super) struct Lane<B: Batch>(Mutex<Option<mpsc::Sender<Order<B>>>>);

impl<B: Batch> Lane<B> {
    /// Starts a lane among the tasks of its owner.
    pub(super) fn start(batch: B, tasks: &mut JoinSet<()>) -> Self {
        let (sender, inbox) = mpsc::channel(WAITING);
        tasks.spawn(work(batch, inbox));
        Self(Mutex::new(Some(sender)))
    }

    /// Takes nothing more. What was left before is still done.
    pub(super) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(super) async fn order(&self, key: B::Key, item: B::Item) -> Result<B::Answer, StoreError> {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sender = sender.ok_or(StoreError::Closed)?;
        let (reply, answer) = oneshot::channel();
        sender.send(Order { key, item, reply }).await.map_err(|_| StoreError::Closed)?;
        drop(sender);
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

/// Items of one key, each with whoever waits for its answer.
type Orders<B> = Vec<(<B as Batch>::Item, Reply<B>)>;

/// What waits, and what is under way.
struct Desk<B: Batch> {
    waiting: HashMap<B::Key, Orders<B>>,
    /// Keys with something waiting, the longest first.
    turns: VecDeque<B::Key>,
    under_way: HashSet<B::Key>,
    held: usize,
}

impl<B: Batch> Desk<B> {
    fn add(&mut self, order: Order<B>) {
        let of_key = self.waiting.entry(order.key.clone()).or_default();
        if of_key.is_empty() {
            self.turns.push_back(order.key);
        }
        of_key.push((order.item, order.reply));
        self.held += 1;
    }

    /// The next batch that may leave.
    fn next(&mut self) -> Option<(B::Key, Orders<B>)> {
        let free = |key: &B::Key| !self.under_way.contains(key);
        let key = self.turns.iter().position(free).and_then(|at| self.turns.remove(at))?;
        let mut orders = self.waiting.remove(&key)?;
        if orders.len() > B::MOST {
            let rest = orders.split_off(B::MOST);
            self.waiting.insert(key.clone(), rest);
            self.turns.push_back(key.clone());
        }
        self.held -= orders.len();
        self.under_way.insert(key.clone());
        Some((key, orders))
    }
}

async fn work<B: Batch>(batch: B, mut inbox: mpsc::Receiver<Order<B>>) {
    let batch = Arc::new(batch);
    let mut desk =
        Desk { waiting: HashMap::new(), turns: VecDeque::new(), under_way: HashSet::new(), held: 0 };
    let mut under_way = FuturesUnordered::new();
    let mut arrived = Vec::new();
    let mut open = true;
    loop {
        while under_way.len() < AT_ONCE
            && let Some((key, orders)) = desk.next()
        {
            under_way.push(fulfil(batch.clone(), key, orders));
        }
        tokio::select! {
            count = inbox.recv_many(&mut arrived, B::MOST), if open && desk.held < WAITING => {
                open = count > 0;
                arrived.drain(..).for_each(|order| desk.add(order));
            }
            Some(key) = under_way.next(), if !under_way.is_empty() => {
                desk.under_way.remove(&key);
            }
            else => return,
        }
    }
}

/// Runs a batch. When the server refuses it, each one is tried alone: one bad value must not cost the others.
async fn fulfil<B: Batch>(batch: Arc<B>, key: B::Key, orders: Vec<(B::Item, Reply<B>)>) -> B::Key {
    let (items, replies): (Vec<_>, Vec<_>) = orders.into_iter().unzip();
    match batch.run(&key, &items).await {
        Ok(answers) => {
            for (reply, answer) in replies.into_iter().zip(answers) {
                // Nobody waiting is no error.
                let _ = reply.send(Ok(answer));
            }
        }
        Err(error) if items.len() > 1 && kind(&error) == Kind::Refused => {
            for (reply, item) in replies.into_iter().zip(&items) {
                let answer = batch.run(&key, std::slice::from_ref(item)).await;
                let _ = reply.send(answer.and_then(|mut answers| answers.pop().ok_or(StoreError::Closed)));
            }
        }
        Err(error) => {
            let error = for_all(error);
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

    /// Answers with the size of the batch, as soon as it is let.
    struct Counts {
        let_go: Arc<Semaphore>,
        began: Arc<Notify>,
    }

    impl Batch for Counts {
        type Key = &'static str;
        type Item = u32;
        type Answer = (u32, usize);
        const MOST: usize = 8;

        async fn run(&self, _: &&'static str, items: &[u32]) -> Result<Vec<(u32, usize)>, StoreError> {
            self.began.notify_one();
            self.let_go.acquire().await.unwrap().forget();
            Ok(items.iter().map(|item| (*item, items.len())).collect())
        }
    }

    fn lane() -> (Arc<Lane<Counts>>, Arc<Semaphore>, Arc<Notify>, JoinSet<()>) {
        let (let_go, began) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
        let mut tasks = JoinSet::new();
        let lane = Lane::start(Counts { let_go: let_go.clone(), began: began.clone() }, &mut tasks);
        (Arc::new(lane), let_go, began, tasks)
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_come_meanwhile_share_a_batch() {
        let (lane, let_go, began, _tasks) = lane();
        let mut first = JoinSet::new();
        let the_lane = lane.clone();
        first.spawn(async move { the_lane.order("a", 1).await.unwrap() });
        began.notified().await;
        let rest = join_all((2..22).map(|number| lane.order("a", number)));
        let more = async {
            tokio::task::yield_now().await;
            let_go.add_permits(99);
        };
        let (rest, ()) = futures::join!(rest, more);
        let sizes: Vec<_> = rest.into_iter().map(Result::unwrap).collect();
        let expected: Vec<_> = (2..22).map(|number| (number, if number < 18 { 8 } else { 4 })).collect();
        assert_eq!(sizes, expected);
        assert_eq!(first.join_all().await, [(1, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_lane_finishes_what_it_has_and_takes_nothing_more() {
        let (lane, let_go, began, mut tasks) = lane();
        let waiting = lane.order("a", 1);
        let closing = async {
            began.notified().await;
            lane.close();
            let_go.add_permits(9);
        };
        let (answer, ()) = futures::join!(waiting, closing);
        assert_eq!(answer.unwrap(), (1, 1));
        assert!(matches!(lane.order("a", 2).await, Err(StoreError::Closed)));
        tasks.join_next().await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn one_key_does_not_keep_another_waiting() {
        let (lane, let_go, began, _tasks) = lane();
        let mut callers = JoinSet::new();
        for key in ["a", "a", "a", "b"] {
            let lane = lane.clone();
            callers.spawn(async move { lane.order(key, 0).await.unwrap() });
        }
        // One of "a" and the one of "b" begin, although nobody is let go.
        for _ in 0..2 {
            began.notified().await;
        }
        let_go.add_permits(9);
        assert_eq!(callers.join_all().await.len(), 4);
    }
}
