//! The other end of the thread.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use tokio::sync::{Mutex, mpsc, oneshot};

use super::operation::Task;
use super::{Command, WAITING, Writer};
use crate::StoreError;
use crate::sqlite::error::{WriterGone, unavailable};
use crate::sqlite::unit::Unit;

/// Asks the thread. When it goes, the thread ends, and is waited for.
pub(in super::super) struct Handle {
    commands: Option<mpsc::Sender<Command>>,
    closed: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handle {
    pub(in super::super) fn start(writer: Writer) -> io::Result<Self> {
        let (commands, inbox) = mpsc::channel(WAITING);
        let thread = Builder::new().name("vmafx-queue".into()).spawn(move || writer.work(inbox))?;
        Ok(Self {
            commands: Some(commands),
            closed: AtomicBool::new(false),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// An operation that may change what is stored.
    pub(in super::super) async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&mut Unit<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.ask(true, work).await
    }

    /// An operation that changes nothing but what is in memory: it costs no transaction.
    pub(in super::super) async fn remember<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&mut Unit<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.ask(false, work).await
    }

    /// Housekeeping, some time.
    pub(in super::super) async fn tidy(&self) -> Result<(), StoreError> {
        self.send(Command::Tidy).await
    }

    /// Ends the thread when it has done what it was asked for, and waits for that.
    pub(in super::super) async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let mut thread = self.thread.lock().await;
        if let Some(thread) = thread.take() {
            if let Some(commands) = &self.commands {
                // Gone already is as good.
                let _ = commands.send(Command::Close).await;
            }
            // A thread that panicked has said so itself.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    /// Refuses after the end.
    pub(in super::super) fn check(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::SeqCst) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Refuses after the end; otherwise whether the thread still lives.
    pub(in super::super) fn is_there(&self) -> Result<bool, StoreError> {
        self.check()?;
        Ok(self.commands.as_ref().is_some_and(|commands| !commands.is_closed()))
    }

    async fn ask<T, W>(&self, writes: bool, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnMut(&mut Unit<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Run(Box::new(Task { work, writes, outcome: None, reply }))).await?;
        answer.await.map_err(|_| self.gone())?
    }

    async fn send(&self, command: Command) -> Result<(), StoreError> {
        self.check()?;
        let commands = self.commands.as_ref().ok_or(StoreError::Closed)?;
        commands.send(command).await.map_err(|_| self.gone())
    }

    fn gone(&self) -> StoreError {
        if self.closed.load(Ordering::SeqCst) { StoreError::Closed } else { unavailable(WriterGone) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.get_mut().take() {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}
