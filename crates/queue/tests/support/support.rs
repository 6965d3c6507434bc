//! Shared by the conformance suite and the model test.

pub(crate) mod build;
pub(crate) mod clock;
pub(crate) mod databases;
pub(crate) mod fixture;
pub(crate) mod node;
pub(crate) mod notifications;
pub(crate) mod reference;
pub(crate) mod sabotage;
pub(crate) mod stores;
