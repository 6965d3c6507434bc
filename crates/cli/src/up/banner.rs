//! What is said when everything is up.

use std::fmt;
use std::path::PathBuf;

use crate::remote::standing::Standing;

/// Where everything is.
pub(super) struct Banner {
    pub(super) standing: Standing,
    /// Where clips may lie.
    pub(super) roots: Vec<String>,
    /// What is computed on.
    pub(super) device: String,
    pub(super) slots: i32,
    /// Health and metrics of the node.
    pub(super) pages: String,
    /// Where jobs are kept.
    pub(super) jobs: PathBuf,
}

impl Banner {
    /// Shows it. To standard error: standard output is for answers, and this has none.
    pub(super) fn show(&self) {
        eprint!("{self}");
    }
}

impl fmt::Display for Banner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Standing { grpc, http, token_file } = &self.standing;
        writeln!(f, "vmafx is up; Ctrl-C ends it.\n")?;
        writeln!(f, "  gRPC    {grpc}")?;
        if !http.is_empty() {
            writeln!(f, "  HTTP    http://{http} (/openapi.json, /metrics)")?;
        }
        if !self.pages.is_empty() {
            writeln!(f, "  Node    http://{} (/readyz, /metrics)", self.pages)?;
        }
        let slots = if self.slots == 1 { "one job" } else { "jobs" };
        let number = if self.slots == 1 { String::new() } else { format!("{} ", self.slots) };
        writeln!(f, "  Scores  {number}{slots} at a time on {}", self.device)?;
        writeln!(f, "  Clips   {}", self.roots.join(", "))?;
        writeln!(f, "  Jobs    {}", self.jobs.display())?;
        writeln!(f, "  Token   {}", token_file.display())?;
        writeln!(f, "\nNow, in another terminal:  vmafx submit REF DIS --wait")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_served_is_not_shown() {
        let standing =
            Standing { grpc: "127.0.0.1:9090".into(), http: String::new(), token_file: "/t".into() };
        let banner = Banner {
            standing,
            roots: vec!["/home/me".into(), "s3://clips/".into()],
            device: "EPYC".into(),
            slots: 2,
            pages: String::new(),
            jobs: "/state/queue.db".into(),
        };
        let text = banner.to_string();
        assert!(!text.contains("HTTP") && !text.contains("Node"), "{text}");
        assert!(text.contains("Scores  2 jobs at a time on EPYC\n"), "{text}");
        assert!(text.contains("Clips   /home/me, s3://clips/\n"), "{text}");
    }
}
