//! What the conformance suite and the model test share.

pub(crate) mod build;
pub(crate) mod clock;
pub(crate) mod databases;
pub(crate) mod fixture;
pub(crate) mod node;
pub(crate) mod notices;
pub(crate) mod reference;
pub(crate) mod sabotage;
pub(crate) mod stores;
