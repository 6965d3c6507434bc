//! Trains a quality model on labelled jobs and pushes its checkpoints to an OCI registry.
//!
//! | module         | holds                                                                                       |
//! |----------------|---------------------------------------------------------------------------------------------|
//! | [`learner`]    | the model that each sample updates: pure                                                    |
//! | [`evaluate`]   | `vmafx-trainer evaluate`: how well the learner would have done on a table of labelled clips |
//! | [`settings`]   | flags and environment variables                                                             |
//! | [`run`]        | the daemon's tasks: start, training, upload, shutdown                                       |
//! | [`source`]     | the controller's sample stream                                                              |
//! | [`base_model`] | the model from which a run starts                                                           |
//! | [`checkpoint`] | when a checkpoint is taken, what it contains, how it is pushed and restored                 |
//! | [`status`]     | `/status`, health and metrics                                                               |

pub mod base_model;
pub mod checkpoint;
pub mod evaluate;
pub mod learner;
pub mod run;
pub mod settings;
pub mod source;
pub mod status;
