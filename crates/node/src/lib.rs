//! Pulls jobs and scores them.
//!
//! | module      | holds                                                                                 |
//! |-------------|---------------------------------------------------------------------------------------|
//! | [`task`]    | what a worker process is told, and what it says                                       |
//! | [`failure`] | why a job has no score, in one word and in a sentence                                 |

pub mod failure;
pub mod task;
