//! `vmafx kube` and `kubectl vmafx` as a user runs them: the real program against a real API server. The operator's part,
//! the status, is written by the tests as the operator writes it.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod change;
mod explain;
mod get;
mod kubelet;
mod logs;
mod plugin;
mod stage;
mod submit;
mod trouble;
mod wait;
