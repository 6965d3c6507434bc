//! Clips of unequal length.

use serde::{Deserialize, Serialize};

use crate::named::named;

/// What to do with clips of unequal length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// The derive would put the enum's description in the place of the description of an optional field, which says more.
#[cfg_attr(feature = "schema", schemars(transform = crate::length_mismatch::without_description))]
pub enum LengthMismatch {
    /// Fail the job and name both lengths.
    #[default]
    #[serde(alias = "fail")]
    Fail,
    /// Score the frames that both clips have.
    #[serde(alias = "shortest")]
    Shortest,
}

named!(LengthMismatch, "rule for clips of unequal length", { Fail = "Fail", Shortest = "Shortest" });

#[cfg(feature = "schema")]
fn without_description(schema: &mut schemars::Schema) {
    schema.remove("description");
}
