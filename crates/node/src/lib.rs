//! Pulls jobs and scores them.
//!
//! | module      | holds                                                                                 |
//! |-------------|---------------------------------------------------------------------------------------|
//! | [`agent`]   | pulls jobs into slots, has them scored, and reports                                   |
//! | [`task`]    | what a worker process is told, and what it says                                       |
//! | [`failure`] | why a job has no score, in one word and in a sentence                                 |
//! | [`worker`]  | the worker process: one job                                                           |
//! | [`launch`]  | starts it, watches it and ends it, from the agent's side                              |
//! | [`machine`] | cores, memory and devices that this process really has                                |
//! | [`run_once`]| one job from arguments, for a Pod of its own                                          |
//! | [`confine`] | takes from the worker's process whatever it does not need                             |
//! | `engine`    | a `vmaf` command that scores instead of the worker itself                             |
//! | [`paths`]   | where the clips of a job may lie                                                      |
//! | [`fetch`]   | gets the inputs of jobs: whole, bounded, once                                         |
//! | [`publish`] | puts reports where jobs want them                                                     |
//! | [`models`]  | finds models: built-in ones, files, artifacts of OCI registries                       |
//! | [`scratch`] | the directory that inputs are fetched to: bounded, and cleaned whatever happens       |

pub mod agent;
pub mod confine;
mod engine;
pub mod failure;
pub mod fetch;
pub mod launch;
pub mod machine;
pub mod models;
pub mod paths;
pub mod publish;
pub mod run_once;
pub mod scratch;
pub mod settings;
pub mod start;
pub mod task;
mod text;
pub mod worker;
