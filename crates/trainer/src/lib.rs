//! Learns from labelled jobs, and pushes what it learned.
//!
//! | module          | holds                                                                                         |
//! |-----------------|-----------------------------------------------------------------------------------------------|
//! | [`learner`]     | a model that moves with each sample: pure                                                     |
//! | [`evaluate`]    | what the learner would have made of a table of labelled clips                                 |
//! | [`settings`]    | what the environment says                                                                     |
//! | [`run`]         | from settings to a trainer that learns, saves and leaves                                      |
//! | [`source`]      | samples from the controller, by cursor                                                        |
//! | [`base`]        | the model a run begins with                                                                   |
//! | [`checkpoint`]  | when one is taken, what is in it, how it reaches the registry and how a run goes on from it   |
//! | [`status`]      | what a trainer says of itself                                                                 |

pub mod base;
pub mod checkpoint;
pub mod evaluate;
pub mod learner;
pub mod run;
pub mod settings;
pub mod source;
pub mod status;
