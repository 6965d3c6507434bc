//! The connection that new calls use, and when it is replaced.
//!
//! A connection is left when its server cannot be reached or says that it does not serve. Calls that already run on it go
//! on; the next call dials another address, or the same one if there is no other: behind a Kubernetes Service the same
//! address leads to another server.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::dial::{DialError, Dialer, Sender};
use super::order::{self, Failures};
use crate::random;

/// Longest back-off after which a call is tried again.
const MAX_WAIT_IN_CALL: Duration = Duration::from_millis(600);

/// A connection. Clones send on the same one.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    number: u64,
    address: SocketAddr,
    pub(super) sender: Sender,
}

#[derive(Debug)]
pub(super) struct Connections {
    dialer: Dialer,
    /// Held while one call dials; the other calls wait for its connection.
    dialling: tokio::sync::Mutex<()>,
    state: Mutex<ChannelState>,
}

#[derive(Debug, Default)]
struct ChannelState {
    current: Option<Connection>,
    dialled: u64,
    failures: Failures,
    /// Failed dials and left connections since the last call that was answered.
    failures_in_a_row: u32,
    not_before: Option<Instant>,
}

impl Connections {
    pub(super) fn new(dialer: Dialer) -> Self {
        Self { dialer, dialling: tokio::sync::Mutex::default(), state: Mutex::default() }
    }

    pub(super) fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// The current connection, or a new one.
    pub(super) async fn get(&self) -> Result<Connection, DialError> {
        let _dialling = self.dialling.lock().await;
        if let Some(connection) = self.state().usable() {
            return Ok(connection);
        }
        let (not_before, failures) = {
            let state = self.state();
            (state.not_before, state.failures.clone())
        };
        if let Some(not_before) = not_before {
            sleep_until(not_before).await;
        }
        let dialled = self.dialer.dial(&failures).await;
        let mut state = self.state();
        for address in dialled.failed {
            state.failures.insert(address, Instant::now());
        }
        match dialled.connection {
            Ok((address, sender)) => {
                state.dialled += 1;
                let connection = Connection { number: state.dialled, address, sender };
                tracing::debug!(%address, "connected to the controller");
                state.current = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                state.failed();
                Err(error)
            }
        }
    }

    /// Whether the next dial comes soon enough for a call to wait for it. While all servers are away a call fails at once,
    /// with the reason, instead of waiting for its deadline.
    pub(super) fn dials_soon(&self) -> bool {
        let not_before = self.state().not_before;
        not_before.is_none_or(|at| at.saturating_duration_since(Instant::now()) <= MAX_WAIT_IN_CALL)
    }

    /// A call was answered.
    pub(super) fn served(&self, connection: &Connection) {
        let mut state = self.state();
        state.failures_in_a_row = 0;
        state.not_before = None;
        if !state.failures.is_empty() {
            state.failures.remove(&connection.address);
        }
    }

    /// The next call dials again.
    pub(super) fn leave(&self, connection: &Connection) {
        let mut state = self.state();
        if state.current.as_ref().is_some_and(|current| current.number == connection.number) {
            tracing::info!(address = %connection.address, "leaving this controller");
            state.current = None;
            state.failures.insert(connection.address, Instant::now());
            state.failed();
        }
    }

    /// A poisoned lock is taken over: every change is complete after each statement.
    fn state(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChannelState {
    fn usable(&self) -> Option<Connection> {
        self.current.clone().filter(|connection| !connection.sender.is_closed())
    }

    fn failed(&mut self) {
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        let delay = order::dial_delay(self.failures_in_a_row, random::fraction());
        self.not_before = Some(Instant::now() + delay);
    }
}
