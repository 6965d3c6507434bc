//! What every VMAFX daemon needs.
//!
//! | module             | gives                                                                                  |
//! |--------------------|----------------------------------------------------------------------------------------|
//! | [`config`]         | settings from environment variables and flags; an error names the variable             |
//! | [`logs`]           | text on a terminal, JSON elsewhere; a panic is a log line too                          |
//! | [`metrics`]        | a Prometheus registry whose labels cannot grow without bound                           |
//! | [`health`]         | `/healthz`, and `/readyz` that lists the closed readiness gates                        |
//! | [`egress`]         | HTTP clients that refuse private networks unless an administrator listed the host      |
//! | [`serve`]          | listeners with limits on time, bytes and connections                                   |
//! | [`request_origin`] | whether a page of another origin made a request                                        |
//! | [`tls`]            | certificates of servers, replaced without a restart                                    |
//! | [`tasks`]          | named, supervised tasks that all stop within a budget                                  |
//! | [`causes`]         | an error with all its causes in one line                                               |
//! | [`channel`]        | a gRPC channel with TLS, a token file, and a deadline on every call                    |
//! | [`daemon`]         | the few lines that turn the above into a `main`                                        |

pub mod causes;
pub mod channel;
pub mod config;
pub mod daemon;
pub mod egress;
pub mod health;
pub mod logs;
pub mod metrics;
mod random;
pub mod request_origin;
pub mod serve;
pub mod tasks;
pub mod tls;
