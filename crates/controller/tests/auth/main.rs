//! Who may call, against real issuers on the loopback.
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

mod gate;
mod issuer;
mod keys;
mod settings;
mod subjects;
mod tenants;
mod tokens;
