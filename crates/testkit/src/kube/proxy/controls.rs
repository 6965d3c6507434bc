//! Closing connections and holding back events while requests are in flight.

use std::collections::BTreeMap;
use std::convert::Infallible;

use tokio::sync::watch;

#[derive(Debug, Default)]
struct ControlState {
    /// The number of guards that refuse new connections.
    refusing: usize,
    /// The number of guards per resource that hold back its events.
    held: BTreeMap<String, usize>,
    /// The number of times that watches were closed.
    watch_closes: u64,
    /// The number of times that connections were closed.
    connection_closes: u64,
}

impl ControlState {
    fn holds(&self, resource: &str) -> bool {
        self.held.get(resource).is_some_and(|times| *times > 0)
    }
}

/// Shared by the proxy and all its connections.
#[derive(Debug, Default)]
pub(super) struct ProxyControls(watch::Sender<ControlState>);

impl ProxyControls {
    pub(super) fn close_watches(&self) {
        self.0.send_modify(|state| state.watch_closes += 1);
    }

    pub(super) fn close_connections(&self) {
        self.0.send_modify(|state| state.connection_closes += 1);
    }

    pub(super) fn refuse(&self, enable: bool) {
        self.0.send_modify(|state| {
            state.refusing = if enable { state.refusing + 1 } else { state.refusing.saturating_sub(1) };
        });
    }

    pub(super) fn is_refusing(&self) -> bool {
        self.0.borrow().refusing > 0
    }

    pub(super) fn hold(&self, resource: &str, enable: bool) {
        self.0.send_modify(|state| {
            let times = state.held.entry(resource.to_owned()).or_default();
            *times = if enable { *times + 1 } else { times.saturating_sub(1) };
        });
    }

    /// Resolves when connections are closed after this call.
    pub(super) fn connections_closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut state = self.0.subscribe();
        let before = state.borrow().connection_closes;
        async move { wait(&mut state, |state| state.connection_closes > before).await }
    }

    /// The control of a new watch of this resource.
    pub(super) fn watch(&self, resource: &str) -> WatchControl {
        let state = self.0.subscribe();
        let closes_before = state.borrow().watch_closes;
        WatchControl { state, closes_before, resource: resource.to_owned() }
    }
}

#[derive(Debug)]
pub(super) struct WatchControl {
    state: watch::Receiver<ControlState>,
    closes_before: u64,
    resource: String,
}

impl WatchControl {
    /// Resolves when the watch is closed.
    pub(super) async fn closed(&mut self) -> Closed {
        let before = self.closes_before;
        wait(&mut self.state, |state| state.watch_closes > before).await;
        Closed
    }

    /// Resolves when events are not held, or the watch is closed.
    pub(super) async fn released(&mut self) -> Result<(), Closed> {
        let (before, resource) = (self.closes_before, &self.resource);
        let released = |state: &ControlState| state.watch_closes > before || !state.holds(resource);
        wait(&mut self.state, released).await;
        if self.state.borrow().watch_closes > before { Err(Closed) } else { Ok(()) }
    }
}

/// Without a sender the proxy is gone, and its connections are about to be closed.
async fn wait(state: &mut watch::Receiver<ControlState>, holds: impl FnMut(&ControlState) -> bool) {
    if state.wait_for(holds).await.is_err() {
        let never: Infallible = std::future::pending().await;
        match never {}
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the connection was closed by the test")]
pub(super) struct Closed;
