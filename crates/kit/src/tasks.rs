//! Named, supervised tasks.
//!
//! A panic in a task that was spawned directly goes unnoticed, and the daemon stays ready without working. Here
//! every task has a name and an owner, the [`TaskSet`]:
//!
//! | event                                         | consequence                                                |
//! |-----------------------------------------------|------------------------------------------------------------|
//! | any task panics or returns an error           | shutdown begins; the process ends with an error naming it  |
//! | a service returns before shutdown             | the same                                                   |
//! | a finite task returns                         | nothing, unless it was the last thing to wait for          |
//! | SIGTERM or SIGINT                             | shutdown begins                                            |
//! | all services and finite tasks have ended      | the shutdown of support tasks begins                       |
//! | the budget is spent, or a second signal comes | what still runs is aborted and named                       |
//!
//! *Support* tasks serve the others until the last of those has ended: the metrics server, a node's heartbeats.

mod error;
mod set;
mod shutdown;
mod signals;

pub use error::{BoxError, TaskError};
pub use set::TaskSet;
pub use shutdown::Shutdown;
pub use signals::{StopSignal, signals};
