//! The worker process: the real binary, started as the agent starts it.

mod confined;
mod ends;
mod engine;
mod golden;
mod groups;
mod hostile;
mod memory;
mod run_once;
mod stage;
