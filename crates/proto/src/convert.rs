//! The domain on the wire: one file per direction.
//!
//! Messages that are sent are built field by field, without `..`: a field that is added to the contract does not compile
//! until somebody decides what goes into it.

mod from_wire;
mod to_wire;

#[cfg(test)]
mod tests;

pub use self::from_wire::{cancel_cause, score_details};
