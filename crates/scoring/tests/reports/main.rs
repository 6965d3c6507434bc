//! Reports as programs and browsers read them.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod example;
mod files;
mod html;
mod json;
