//! The callers' side of the writer thread.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use tokio::sync::{Mutex, mpsc, oneshot};

use super::operation::Task;
use super::{Command, MAX_QUEUED, Writer};
use crate::sqlite::error::{WriterGone, unavailable};
use crate::sqlite::space::Growth;
use crate::sqlite::unit_of_work::UnitOfWork;
use crate::{StoreError, StoreResult};

/// Sends commands to the writer thread. Dropping it ends the thread and waits for it.
pub(in super::super) struct Handle {
    commands: Option<mpsc::Sender<Command>>,
    closed: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handle {
    pub(in super::super) fn start(writer: Writer) -> io::Result<Self> {
        let (commands, inbox) = mpsc::channel(MAX_QUEUED);
        let thread = Builder::new().name("vmafx-queue".into()).spawn(move || writer.run(inbox))?;
        Ok(Self {
            commands: Some(commands),
            closed: AtomicBool::new(false),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs an operation that may write to the database, also into the reserve.
    pub(in super::super) async fn write<T, W>(&self, work: W) -> StoreResult<T>
    where
        T: Send + 'static,
        W: FnMut(&mut UnitOfWork<'_>) -> StoreResult<T> + Send + 'static,
    {
        self.ask(Growth::Essential, work).await
    }

    /// Runs an operation that begins something new; refused with [`StoreError::Full`] while there is no room.
    pub(in super::super) async fn write_new<T, W>(&self, work: W) -> StoreResult<T>
    where
        T: Send + 'static,
        W: FnMut(&mut UnitOfWork<'_>) -> StoreResult<T> + Send + 'static,
    {
        self.ask(Growth::New, work).await
    }

    /// Runs an operation that changes only the state in memory and needs no transaction.
    pub(in super::super) async fn run_in_memory<T, W>(&self, work: W) -> StoreResult<T>
    where
        T: Send + 'static,
        W: FnMut(&mut UnitOfWork<'_>) -> StoreResult<T> + Send + 'static,
    {
        self.ask(Growth::Memory, work).await
    }

    /// Asks the thread to return free pages at its next opportunity.
    pub(in super::super) async fn reclaim_space(&self) -> StoreResult<()> {
        self.send(Command::ReclaimSpace).await
    }

    /// Ends the thread after it has finished the enqueued operations, and waits for it.
    pub(in super::super) async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let mut thread = self.thread.lock().await;
        if let Some(thread) = thread.take() {
            if let Some(commands) = &self.commands {
                // Sending fails only when the thread has already ended.
                let _ = commands.send(Command::Close).await;
            }
            // The panic hook has already reported a panic of the thread.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    pub(in super::super) fn check(&self) -> StoreResult<()> {
        if self.closed.load(Ordering::SeqCst) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Fails after `close`; otherwise returns whether the thread is running.
    pub(in super::super) fn is_alive(&self) -> StoreResult<bool> {
        self.check()?;
        Ok(self.commands.as_ref().is_some_and(|commands| !commands.is_closed()))
    }

    async fn ask<T, W>(&self, growth: Growth, work: W) -> StoreResult<T>
    where
        T: Send + 'static,
        W: FnMut(&mut UnitOfWork<'_>) -> StoreResult<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Run(Box::new(Task { work, growth, outcome: None, reply }))).await?;
        answer.await.map_err(|_| self.gone())?
    }

    async fn send(&self, command: Command) -> StoreResult<()> {
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
            // The panic hook has already reported a panic of the thread.
            let _ = thread.join();
        }
    }
}
