//! The message that `vmafx up` prints when it is ready.

use std::fmt;
use std::path::PathBuf;

use crate::remote::local_controller::LocalController;

pub(super) struct Banner {
    pub(super) controller: LocalController,
    pub(super) roots: Vec<String>,
    pub(super) device: String,
    pub(super) slots: i32,
    /// Address of the node's health checks and metrics; empty if they are disabled.
    pub(super) node_http: String,
    pub(super) database: PathBuf,
}

impl fmt::Display for Banner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LocalController { grpc, http, token_file } = &self.controller;
        writeln!(f, "vmafx is up. Press Ctrl-C to stop it.\n")?;
        writeln!(f, "  gRPC    {grpc}")?;
        if !http.is_empty() {
            writeln!(f, "  Pages   http://{http}/ (sign in with the content of the token file)")?;
            writeln!(f, "  HTTP    http://{http} (/openapi.json, /metrics)")?;
        }
        if !self.node_http.is_empty() {
            writeln!(f, "  Node    http://{} (/readyz, /metrics)", self.node_http)?;
        }
        let jobs = if self.slots == 1 { "job" } else { "jobs" };
        writeln!(f, "  Scores  {} {jobs} at a time on {}", self.slots, self.device)?;
        writeln!(f, "  Clips   {}", self.roots.join(", "))?;
        writeln!(f, "  Jobs    {}", self.database.display())?;
        writeln!(f, "  Token   {}", token_file.display())?;
        writeln!(f, "\nTo score a clip, run in another terminal: vmafx submit REF DIS --wait")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banner(http: &str) -> String {
        let controller =
            LocalController { grpc: "127.0.0.1:9090".into(), http: http.into(), token_file: "/t".into() };
        let banner = Banner {
            controller,
            roots: vec!["/home/me".into(), "s3://clips/".into()],
            device: "EPYC".into(),
            slots: 2,
            node_http: String::new(),
            database: "/state/queue.db".into(),
        };
        banner.to_string()
    }

    #[test]
    fn the_dashboard_is_shown_with_how_to_sign_in() {
        let text = banner("127.0.0.1:8080");
        assert!(
            text.contains("Pages   http://127.0.0.1:8080/ (sign in with the content of the token"),
            "{text}"
        );
    }

    #[test]
    fn disabled_services_are_not_shown() {
        let text = banner("");
        assert!(!text.contains("HTTP") && !text.contains("Pages") && !text.contains("Node"), "{text}");
        assert!(text.contains("Scores  2 jobs at a time on EPYC\n"), "{text}");
        assert!(text.contains("Clips   /home/me, s3://clips/\n"), "{text}");
    }
}
