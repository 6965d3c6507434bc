//! What processes say and how they end, in words.

mod signal;
mod tail;

pub(crate) use signal::signal;
pub(crate) use tail::Tail;
