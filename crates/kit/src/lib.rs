//! What every VMAFX daemon needs and none should write twice.
//!
//! | module      | gives                                                                              |
//! |-------------|------------------------------------------------------------------------------------|
//! | [`config`]  | settings from environment variables and flags; a refusal names the variable         |
//! | [`logs`]    | text on a terminal, JSON elsewhere; a panic is a log line too                        |
//! | [`metrics`] | a Prometheus registry whose labels cannot grow without bound                         |
//! | [`health`]  | `/healthz`, and `/readyz` that says what is missing                                  |
//! | [`serve`]   | listeners that name the variable when a port is taken; clients bounded in every way  |
//! | [`tls`]     | certificates of servers, replaced without a restart                                  |
//! | [`tasks`]   | named tasks: none can die unseen, and all stop within a budget                       |
//! | [`causes`]  | an error with all its causes in one line                                             |
//! | [`channel`] | a gRPC channel with TLS, a token file, and a deadline on every call                  |
//! | [`daemon`]  | the few lines that turn the above into a `main`                                      |

pub mod causes;
pub mod channel;
pub mod config;
pub mod daemon;
pub mod health;
pub mod logs;
pub mod metrics;
pub mod serve;
pub mod tasks;
pub mod tls;
