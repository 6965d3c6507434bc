//! The output of processes and the names of signals, for messages.

mod signal;
mod tail;

pub(crate) use signal::signal;
pub(crate) use tail::Tail;
