//! A journal of the work of all candidates, in order.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vmafx_testkit::wait;

/// Includes the expiry of a lease, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(40);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The work of a candidate began.
    Began(&'static str),
    /// It ended after its shutdown had begun.
    Ended(&'static str),
    /// It was dropped before it ended.
    Dropped(&'static str),
}

pub(crate) use Event::{Began, Dropped, Ended};

#[derive(Clone, Debug, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<Event>>>);

impl Journal {
    /// Records an event. Fails the test if two candidates work at the same time.
    pub(crate) fn write(&self, event: Event) {
        let mut events = self.0.lock().unwrap();
        let both_lead = matches!((events.last(), &event), (Some(Began(_)), Began(_)));
        events.push(event);
        assert!(!both_lead, "two candidates work at the same time: {events:?}");
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until the journal contains exactly these events.
    pub(crate) async fn wait_for(&self, expected: &[Event]) {
        self.until(&format!("the journal to read {expected:?}"), |events| events == expected).await;
    }

    async fn until(&self, what: &str, holds: impl Fn(&[Event]) -> bool) {
        let probe = || async {
            let events = self.events();
            if holds(&events) { Ok(()) } else { Err(Shown(events)) }
        };
        wait::until(TIMEOUT, what, probe).await.unwrap();
    }
}

#[derive(Debug)]
struct Shown(Vec<Event>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
