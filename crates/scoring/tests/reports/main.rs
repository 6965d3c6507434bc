//! Reports as their readers see them.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod files;
mod html;
mod json;
mod made_by_hand;
