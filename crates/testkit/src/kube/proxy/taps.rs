//! What can be shut, opened and cut while requests are under way.

use std::collections::BTreeMap;
use std::convert::Infallible;

use tokio::sync::watch;

/// The state of all taps.
#[derive(Debug, Default)]
struct State {
    /// Connections are cut as they come.
    refusing: usize,
    /// Resources of which no event is passed on, and how often that was asked for.
    held: BTreeMap<String, usize>,
    /// How often watches were cut.
    watch_cuts: u64,
    /// How often connections were cut.
    connection_cuts: u64,
}

impl State {
    fn holds(&self, resource: &str) -> bool {
        self.held.get(resource).is_some_and(|times| *times > 0)
    }
}

/// Shared by the proxy and all that it serves.
#[derive(Debug, Default)]
pub(super) struct Taps(watch::Sender<State>);

impl Taps {
    pub(super) fn cut_watches(&self) {
        self.0.send_modify(|state| state.watch_cuts += 1);
    }

    pub(super) fn cut_connections(&self) {
        self.0.send_modify(|state| state.connection_cuts += 1);
    }

    pub(super) fn refuse(&self, yes: bool) {
        self.0.send_modify(|state| {
            state.refusing = if yes { state.refusing + 1 } else { state.refusing.saturating_sub(1) };
        });
    }

    pub(super) fn is_refusing(&self) -> bool {
        self.0.borrow().refusing > 0
    }

    pub(super) fn hold(&self, resource: &str, yes: bool) {
        self.0.send_modify(|state| {
            let times = state.held.entry(resource.to_owned()).or_default();
            *times = if yes { *times + 1 } else { times.saturating_sub(1) };
        });
    }

    /// Resolves when connections are cut after this call.
    pub(super) fn connections_cut(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut state = self.0.subscribe();
        let before = state.borrow().connection_cuts;
        async move { wait(&mut state, |state| state.connection_cuts > before).await }
    }

    /// A watch of this resource that begins here.
    pub(super) fn watch(&self, resource: &str) -> WatchTap {
        let state = self.0.subscribe();
        let cuts = state.borrow().watch_cuts;
        WatchTap { state, cuts, resource: resource.to_owned() }
    }
}

/// What one watch obeys.
#[derive(Debug)]
pub(super) struct WatchTap {
    state: watch::Receiver<State>,
    cuts: u64,
    resource: String,
}

impl WatchTap {
    /// Resolves when the watch is cut.
    pub(super) async fn cut(&mut self) -> Cut {
        let before = self.cuts;
        wait(&mut self.state, |state| state.watch_cuts > before).await;
        Cut
    }

    /// Resolves when events may pass, or the watch is cut.
    pub(super) async fn open(&mut self) -> Result<(), Cut> {
        let (before, resource) = (self.cuts, &self.resource);
        let may_go_on = |state: &State| state.watch_cuts > before || !state.holds(resource);
        wait(&mut self.state, may_go_on).await;
        if self.state.borrow().watch_cuts > before { Err(Cut) } else { Ok(()) }
    }
}

/// Without a sender there is no proxy any more, and whoever waits is ended with it.
async fn wait(state: &mut watch::Receiver<State>, holds: impl FnMut(&State) -> bool) {
    if state.wait_for(holds).await.is_err() {
        let never: Infallible = std::future::pending().await;
        match never {}
    }
}

/// The connection was ended by a test.
#[derive(Debug, thiserror::Error)]
#[error("the connection was cut")]
pub(super) struct Cut;
