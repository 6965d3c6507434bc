//! Pulls jobs from the queue and scores them.
//!
//! | module       | holds                                                                                 |
//! |--------------|---------------------------------------------------------------------------------------|
//! | [`agent`]    | pulls jobs into slots, has them scored, and reports their results                     |
//! | [`run_once`] | one job from a JSON document, for a Pod of its own                                    |
//! | [`scorer`]   | scores one request, for both of them                                                  |
//! | [`launch`]   | starts, watches and kills worker processes                                            |
//! | [`task`]     | the protocol between the agent and a worker process                                   |
//! | [`worker`]   | the worker process: one job                                                           |
//! | `engine`     | a `vmaf` command that scores instead of the worker itself                             |
//! | [`confine`]  | takes from the worker's process whatever it does not need                             |
//! | [`machine`]  | cores, memory and devices of this process                                             |
//! | [`paths`]    | which addresses a job may read and write                                              |
//! | [`fetch`]    | downloads the inputs of jobs: whole, within limits, once                              |
//! | [`publish`]  | writes reports to the addresses that jobs name                                        |
//! | [`models`]   | finds models: built-in ones, files, artifacts of OCI registries                       |
//! | [`scratch`]  | the directory for downloads and jobs: limited, and cleaned also after a crash         |

pub mod agent;
pub mod confine;
mod engine;
pub mod fetch;
pub mod launch;
pub mod machine;
pub mod models;
pub mod paths;
pub mod publish;
pub mod run_once;
pub mod scorer;
pub mod scratch;
pub mod settings;
pub mod start;
pub mod task;
mod text;
pub mod worker;
