//! Authentication and authorization, with real token issuers on the loopback interface.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

#[path = "../support/clock.rs"]
mod clock;
mod gate;
mod issuer;
mod keys;
mod namespaces;
mod settings;
mod subjects;
mod tenants;
mod tokens;
