//! What happened, in order.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vmafx_testkit::wait;

/// Generous: a lease has to expire, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(40);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The work of a contender began.
    Began(&'static str),
    /// It was told to stop, and stopped.
    Ended(&'static str),
    /// It was dropped in the middle.
    Dropped(&'static str),
}

pub(crate) use Event::{Began, Dropped, Ended};

#[derive(Clone, Debug, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<Event>>>);

impl Journal {
    /// Writes it down. Two at work at a time are what no test may ever see.
    pub(crate) fn write(&self, event: Event) {
        let mut events = self.0.lock().unwrap();
        let two = matches!((events.last(), &event), (Some(Began(_)), Began(_)));
        events.push(event);
        assert!(!two, "two are at work: {events:?}");
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until exactly this has happened.
    pub(crate) async fn reads(&self, expected: &[Event]) {
        self.until(&format!("the journal to read {expected:?}"), |events| events == expected).await;
    }

    async fn until(&self, what: &str, holds: impl Fn(&[Event]) -> bool) {
        let probe = || async {
            let events = self.events();
            if holds(&events) { Ok(()) } else { Err(Shown(events)) }
        };
        wait::until(PATIENCE, what, probe).await.unwrap();
    }
}

#[derive(Debug)]
struct Shown(Vec<Event>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
