//! `vmafx kube` and `kubectl vmafx` as a user runs them: the real program against a real API server. The tests write the
//! status of the resources in place of the operator.
#![expect(clippy::unwrap_used, reason = "the helpers of a test may fail it")]

mod change;
mod dashboard;
mod errors;
mod explain;
mod get;
mod harness;
mod kubelet;
mod logs;
mod plugin;
mod port_forward;
mod submit;
mod wait;
