//! Pulls jobs and scores them.
//!
//! | module      | holds                                                                                 |
//! |-------------|---------------------------------------------------------------------------------------|
//! | [`task`]    | what a worker process is told, and what it says                                       |
//! | [`failure`] | why a job has no score, in one word and in a sentence                                 |
//! | [`worker`]  | the worker process: one job                                                           |
//! | [`confine`] | takes from the worker's process whatever it does not need                             |
//! | `engine`    | a `vmaf` command that scores instead of the worker itself                             |

pub mod confine;
mod engine;
pub mod failure;
pub mod task;
mod text;
pub mod worker;
