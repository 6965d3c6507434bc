//! Why a set of tasks ended badly.

use std::error::Error;
use std::io;

use crate::config::GoDuration;

/// Any error, on its way to a log line or to the user.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The first thing that went wrong.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A task panicked.
    #[error("the task {task} panicked: {message}")]
    Panicked {
        /// Its name.
        task: String,
        /// What was said to `panic!`.
        message: String,
    },
    /// A task returned an error.
    #[error("the task {task} failed")]
    Failed {
        /// Its name.
        task: String,
        /// Its error.
        #[source]
        source: BoxError,
    },
    /// A service returned although nobody asked it to.
    #[error("the task {task} ended although it should run until shutdown")]
    Ended {
        /// Its name.
        task: String,
    },
    /// Tasks did not end within the budget.
    #[error("shutdown took longer than {budget}; aborted: {}", tasks.join(", "))]
    Overdue {
        /// How long they were given.
        budget: GoDuration,
        /// Their names.
        tasks: Vec<String>,
    },
    /// A second signal cut the shutdown short.
    #[error("a second signal cut the shutdown short; aborted: {}", tasks.join(", "))]
    Interrupted {
        /// What still ran.
        tasks: Vec<String>,
    },
    /// The operating system gave no signal handler.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
}
