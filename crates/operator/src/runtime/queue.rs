//! The work queue of keys.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;

use tokio::time::Instant;

/// Each key is ready, due later, or in work. Time is an argument.
#[derive(Debug)]
pub struct WorkQueue<K> {
    ready: VecDeque<K>,
    queued: HashSet<K>,
    later: BTreeSet<(Instant, K)>,
    due: HashMap<K, Instant>,
    busy: HashSet<K>,
    again: HashSet<K>,
}

impl<K> Default for WorkQueue<K> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            queued: HashSet::new(),
            later: BTreeSet::new(),
            due: HashMap::new(),
            busy: HashSet::new(),
            again: HashSet::new(),
        }
    }
}

impl<K: Clone + Eq + Hash + Ord> WorkQueue<K> {
    /// Makes a key ready, now or as soon as its current work is done. A later due time is cancelled.
    pub fn add(&mut self, key: K) {
        if self.busy.contains(&key) {
            self.again.insert(key);
            return;
        }
        self.cancel(&key);
        if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// The next key that is ready or due. It is in work until [`WorkQueue::done`].
    pub fn take(&mut self, now: Instant) -> Option<K> {
        while let Some((at, _)) = self.later.first() {
            if *at > now {
                break;
            }
            let Some((_, key)) = self.later.pop_first() else { break };
            self.due.remove(&key);
            if self.queued.insert(key.clone()) {
                self.ready.push_back(key);
            }
        }
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        self.busy.insert(key.clone());
        Some(key)
    }

    /// Work on a key is done; the key is due again at `next`, or ready at once if it was added meanwhile.
    pub fn done(&mut self, key: K, next: Option<Instant>) {
        self.busy.remove(&key);
        if self.again.remove(&key) {
            self.add(key);
        } else if let Some(at) = next {
            self.due.insert(key.clone(), at);
            self.later.insert((at, key));
        }
    }

    /// The earliest due time of the keys that are not ready.
    pub fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// Number of ready keys.
    pub fn depth(&self) -> usize {
        self.ready.len()
    }

    fn cancel(&mut self, key: &K) {
        if let Some(at) = self.due.remove(key) {
            self.later.remove(&(at, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn second(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn a_key_is_queued_once_and_worked_on_once_at_a_time() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        for _ in 0..3 {
            queue.add("a");
        }
        assert_eq!(queue.depth(), 1);
        assert_eq!(queue.take(now), Some("a"));
        queue.add("a");
        assert_eq!(queue.take(now), None, "it is in work");
        queue.done("a", None);
        assert_eq!(queue.take(now), Some("a"), "it was added meanwhile");
        queue.done("a", None);
        assert_eq!(queue.take(now), None);
    }

    #[test]
    fn keys_come_in_order_and_when_they_are_due() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        for (key, seconds) in [("late", 9), ("soon", 2)] {
            queue.add(key);
            let taken = queue.take(now).unwrap();
            queue.done(taken, Some(now + second(seconds)));
        }
        assert_eq!(queue.next_due(), Some(now + second(2)));
        assert_eq!(queue.take(now + second(1)), None);
        queue.add("new");
        let at = now + second(10);
        assert_eq!(
            [queue.take(at), queue.take(at), queue.take(at)],
            [Some("new"), Some("soon"), Some("late")]
        );
    }

    #[test]
    fn a_change_of_a_waiting_key_replaces_its_timer() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        queue.add("a");
        queue.take(now);
        queue.done("a", Some(now + second(5)));
        queue.add("a");
        assert_eq!(queue.take(now), Some("a"));
        queue.done("a", None);
        assert_eq!(queue.next_due(), None);
        assert_eq!(queue.take(now + second(60)), None);
    }

    #[test]
    fn a_change_during_work_wins_over_the_timer() {
        let (mut queue, now) = (WorkQueue::default(), Instant::now());
        queue.add("a");
        queue.take(now);
        queue.add("a");
        queue.done("a", Some(now + second(60)));
        assert_eq!(queue.take(now), Some("a"));
    }
}
