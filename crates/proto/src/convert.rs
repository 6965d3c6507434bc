//! Conversion between the domain and the wire, one file per direction.
//!
//! Messages that are sent are built field by field, without `..`: a field that is added to the contract does not compile
//! until it is handled here.

mod from_wire;
mod to_wire;

#[cfg(test)]
mod tests;

pub use self::from_wire::{cancel_cause, score_details};
