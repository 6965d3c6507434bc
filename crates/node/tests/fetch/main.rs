//! Inputs, from real servers and from hostile ones.

mod agent;
mod faults;
mod reports;
mod schemes;
mod secrets;
mod sharing;
