//! What is done to which requests.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::ledger::Record;
use super::request::{ApiRequest, Verb};
use crate::wait::{self, TimedOut};

/// Which requests a fault is for: by default each that fits, and every time.
#[derive(Clone)]
pub struct Which {
    fits: Arc<dyn Fn(&ApiRequest) -> bool + Send + Sync>,
    when: When,
}

#[derive(Clone, Copy)]
enum When {
    Always,
    Nth(usize),
    OnceEach,
}

impl fmt::Debug for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Which").finish_non_exhaustive()
    }
}

impl Which {
    /// All that fit.
    pub fn matching(fits: impl Fn(&ApiRequest) -> bool + Send + Sync + 'static) -> Self {
        Self { fits: Arc::new(fits), when: When::Always }
    }

    /// Everything that changes what is stored.
    pub fn writes() -> Self {
        Self::matching(ApiRequest::is_write)
    }

    /// Everything that asks for changes as they come.
    pub fn watches() -> Self {
        Self::matching(|request| request.verb == Verb::Watch)
    }

    /// Of those, the ones that fit this too.
    #[must_use]
    pub fn and(self, also: impl Fn(&ApiRequest) -> bool + Send + Sync + 'static) -> Self {
        let fits = self.fits;
        Self { fits: Arc::new(move |request| fits(request) && also(request)), ..self }
    }

    /// Of those, the ones for this resource and not for a subresource of it.
    #[must_use]
    pub fn of(self, resource: &'static str) -> Self {
        self.and(move |request| request.resource == resource && request.subresource.is_empty())
    }

    /// Of those, only the n-th from now, beginning with 1.
    #[must_use]
    pub fn nth(self, n: usize) -> Self {
        Self { when: When::Nth(n), ..self }
    }

    /// Of those, the first with each method and path.
    #[must_use]
    pub fn once_each(self) -> Self {
        Self { when: When::OnceEach, ..self }
    }
}

/// Whether an answer is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// As if nothing had happened.
    On,
    /// No: the connection ends.
    Cut,
}

type Callback = Arc<dyn Fn(&Record) -> Pass + Send + Sync>;

/// What is done to a request.
#[derive(Clone)]
pub enum Act {
    /// The API server is never asked; this code is answered, as the API server would word it.
    Answer(u16),
    /// The API server does it, but the client is told that it failed with this code.
    Lose(u16),
    /// The API server is never asked, and there is no answer.
    Silence,
    /// The API server does it, and there is no answer.
    SilenceAfter,
    /// The connection ends before the API server is asked.
    CutBefore,
    /// The connection ends when the API server has done it.
    CutAfter,
    /// It waits at the proxy until it is released.
    Hold,
    /// Runs before the API server is asked; see [`Act::before`].
    #[doc(hidden)]
    Before(Callback),
    /// Runs when the API server has answered; see [`Act::after`].
    #[doc(hidden)]
    After(Callback),
}

impl Act {
    /// Calls this before the API server is asked; [`Pass::Cut`]: it is never asked.
    pub fn before(call: impl Fn(&Record) -> Pass + Send + Sync + 'static) -> Self {
        Self::Before(Arc::new(call))
    }

    /// Calls this when the API server has answered and the client does not know it yet.
    pub fn after(call: impl Fn(&Record) -> Pass + Send + Sync + 'static) -> Self {
        Self::After(Arc::new(call))
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(code) => write!(f, "Answer({code})"),
            Self::Lose(code) => write!(f, "Lose({code})"),
            Self::Silence => f.write_str("Silence"),
            Self::SilenceAfter => f.write_str("SilenceAfter"),
            Self::CutBefore => f.write_str("CutBefore"),
            Self::CutAfter => f.write_str("CutAfter"),
            Self::Hold => f.write_str("Hold"),
            Self::Before(_) => f.write_str("Before"),
            Self::After(_) => f.write_str("After"),
        }
    }
}

/// A fault that is in force.
#[derive(Debug)]
pub(super) struct Rule {
    which: Which,
    act: Act,
    seen: Mutex<Seen>,
    released: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Seen {
    fitting: usize,
    paths: HashSet<String>,
    hits: Vec<ApiRequest>,
}

impl Rule {
    /// Counts the request, and says whether something is to be done to it.
    fn is_due(&self, request: &ApiRequest) -> bool {
        if !(self.which.fits)(request) {
            return false;
        }
        let mut seen = lock(&self.seen);
        seen.fitting += 1;
        let due = match self.which.when {
            When::Always => true,
            When::Nth(n) => seen.fitting == n,
            When::OnceEach => seen.paths.insert(format!("{} {}", request.method, request.path)),
        };
        if due {
            seen.hits.push(request.clone());
        }
        due
    }

    pub(super) fn act(&self) -> &Act {
        &self.act
    }

    /// Returns when it is released, or nobody is there any more to release it.
    pub(super) async fn released(&self) {
        let _ = self.released.subscribe().wait_for(|released| *released).await;
    }
}

/// The faults that are in force, in the order in which they were made.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules(Arc<Mutex<Vec<Arc<Rule>>>>);

impl Rules {
    pub(super) fn add(&self, which: Which, act: Act) -> Injected {
        let released = watch::Sender::new(false);
        let rule = Arc::new(Rule { which, act, seen: Mutex::default(), released });
        lock(&self.0).push(Arc::clone(&rule));
        Injected { rule, rules: self.clone() }
    }

    /// Every fault that the request fits counts it; the first that is due is done.
    pub(super) fn due(&self, request: &ApiRequest) -> Option<Arc<Rule>> {
        let rules = lock(&self.0).clone();
        let mut due = rules.into_iter().filter(|rule| rule.is_due(request)).collect::<Vec<_>>().into_iter();
        due.next()
    }
}

/// A fault in force. Dropping it takes it back, and releases what it holds.
#[derive(Debug)]
#[must_use = "a fault that is dropped is taken back"]
pub struct Injected {
    rule: Arc<Rule>,
    rules: Rules,
}

impl Injected {
    /// The requests it was done to, in order.
    pub fn hits(&self) -> Vec<ApiRequest> {
        lock(&self.rule.seen).hits.clone()
    }

    /// Returns when it was done to the first request.
    pub async fn hit(&self, deadline: Duration) -> Result<ApiRequest, TimedOut> {
        wait::until(deadline, "a request that the fault is for", async || self.hits().into_iter().next())
            .await
    }

    /// Lets everything go on that it holds or would hold.
    pub fn release(&self) {
        self.rule.released.send_replace(true);
    }
}

impl Drop for Injected {
    fn drop(&mut self) {
        lock(&self.rules.0).retain(|rule| !Arc::ptr_eq(rule, &self.rule));
        self.release();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
