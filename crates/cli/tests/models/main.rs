//! `vmafx models`: the real program with a real registry.
#![expect(clippy::unwrap_used, reason = "test code")]

mod diff;
mod fixture;
mod inspect;
mod list;
