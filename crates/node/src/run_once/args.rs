//! The arguments: where the request is, and what describes the machine rather than the job.

use std::path::PathBuf;

use clap::Args;
use vmafx_job::ScoringRequest;
use vmafx_kit::config::GoDuration;
use vmafx_kit::logs::LogArgs;

use super::request::{self, RequestError};
use crate::scorer::{ScorerError, ScorerSettings};

/// Scores one pair of clips and writes the result to a file.
#[derive(Clone, Debug, Args)]
#[command(group = clap::ArgGroup::new("document").required(true).args(["request", "request_file"]))]
pub struct RunOnceArgs {
    /// The job as a JSON document, such as {"reference": "s3://…", "distorted": "s3://…", "frameStep": 5}. Its fields
    /// are those of a VmafxJob: reference, distorted, model, backend, input, reportURI, and those of spec.scoring
    #[arg(long, value_name = "JSON")]
    pub request: Option<String>,
    /// File with that document; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub request_file: Option<PathBuf>,
    /// Locations that clips must be below, and the report too unless it has locations of its own
    #[arg(long, env = "VMAFX_SCORING_ROOTS", value_name = "LIST", value_delimiter = ',')]
    pub scoring_roots: Vec<String>,
    /// Locations that the report must be below
    #[arg(long, env = "VMAFX_REPORT_ROOTS", value_name = "LIST", value_delimiter = ',')]
    pub report_roots: Vec<String>,
    /// File for the result
    #[arg(long, value_name = "FILE")]
    pub result: PathBuf,
    /// Stall timeout: a job that makes no progress for this long fails
    #[arg(long, env = "VMAFX_STALL_TIMEOUT", value_name = "DURATION", default_value = "5m")]
    pub stall_timeout: GoDuration,
    #[command(flatten)]
    pub scorer: ScorerSettings,
    #[command(flatten)]
    pub logs: LogArgs,
}

/// Wrong usage that the parser of the command line cannot find.
#[derive(Debug, thiserror::Error)]
pub(super) enum UsageError {
    #[error("--request: {0}")]
    Argument(RequestError),
    #[error("--request-file {}: {error}", path.display())]
    File { path: PathBuf, error: RequestError },
    #[error(transparent)]
    Settings(ScorerError),
}

impl RunOnceArgs {
    /// Parses the request, and checks the settings as far as that needs nothing but the settings.
    pub(super) fn request(&self) -> Result<ScoringRequest, UsageError> {
        self.scorer.external_engine().map_err(UsageError::Settings)?;
        match &self.request_file {
            Some(path) => request::read(path).map_err(|error| UsageError::File { path: path.clone(), error }),
            None => request::parse(self.request.as_deref().unwrap_or_default().as_bytes())
                .map_err(UsageError::Argument),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: RunOnceArgs,
    }

    const REQUEST: &str = r#"{"reference":"/r","distorted":"/d"}"#;

    fn parse(line: &[&str]) -> Result<RunOnceArgs, clap::Error> {
        let always = ["x", "--result", "/out"];
        Line::try_parse_from(always.iter().chain(line)).map(|line| line.args)
    }

    #[rstest]
    #[case::no_request(&[])]
    #[case::two_requests(&["--request", REQUEST, "--request-file", "/f"])]
    #[case::unknown_backend(&["--request", REQUEST, "--backend", "auto"])]
    fn a_command_line_that_is_ambiguous_or_unknown_is_refused(#[case] line: &[&str]) {
        assert!(parse(line).is_err());
    }

    #[test]
    fn a_gpu_needs_an_engine() {
        let args = parse(&["--request", REQUEST, "--backend", "cuda"]).unwrap();
        let error = args.request().unwrap_err();
        assert_eq!(
            error.to_string(),
            "VMAFX_BACKEND=cuda needs an engine: set VMAFX_VMAF_BINARY to a vmaf program that is built for it"
        );
    }
}
