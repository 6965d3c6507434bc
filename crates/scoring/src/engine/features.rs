//! libvmaf's extractors, and the names of the features that they compute.
//!
//! Models name features; an extractor computes several at once. Registering extractors here, instead of letting libvmaf derive
//! them from the model, skips features that the model does not use, lets models share an extractor, and lets motion be
//! computed once for several clips. In return, the table must agree with libvmaf's sources;
//! `every_model_scores_the_same_as_when_libvmaf_registers_its_features` checks each row.

mod name;
mod option;
pub(super) mod requested;
mod required;
mod table;

pub(super) use name::feature_log_name;
pub(super) use option::{UnsupportedOption, checked_option};
pub(super) use required::{FeatureOutput, RequiredExtractor, RequiredExtractors};
pub(super) use table::{ExtractorKind, by_feature};
