//! What libvmaf can measure, and the names it keeps it under.
//!
//! Models name features; extractors compute several at once. Registering extractors by hand instead of letting libvmaf
//! derive them from the model saves work that the model does not use, lets models share an extractor, and lets motion be
//! computed once for several clips. The price is that this table must say the same as libvmaf's sources; each row is
//! checked by `every_model_scores_the_same_as_when_libvmaf_registers_its_features`.

pub(super) mod extra;
mod name;
mod need;
mod option;
mod table;

pub(super) use name::shown_name;
pub(super) use need::{Need, Needs, Output};
pub(super) use option::{OptionProblem, checked_option};
pub(super) use table::{Kind, by_feature};
