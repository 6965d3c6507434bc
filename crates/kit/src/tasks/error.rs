use std::error::Error;
use std::io;

use crate::config::GoDuration;

pub type BoxError = Box<dyn Error + Send + Sync>;

/// The first failure of a task set.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    #[error("the task {task} panicked: {message}")]
    Panicked { task: String, message: String },
    #[error("the task {task} failed")]
    Failed {
        task: String,
        #[source]
        source: BoxError,
    },
    /// A service returned before shutdown.
    #[error("the task {task} ended although it should run until shutdown")]
    Ended { task: String },
    #[error("shutdown took longer than {budget}; aborted: {}", tasks.join(", "))]
    Overdue { budget: GoDuration, tasks: Vec<String> },
    #[error("a second signal cut the shutdown short; aborted: {}", tasks.join(", "))]
    Interrupted { tasks: Vec<String> },
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
}
