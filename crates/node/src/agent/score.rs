//! One job: inputs, model, worker, report.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vmafx_proto::controller::v1::{Job, ScoringParams};

use super::wire;
use crate::failure::{Failure, Reason};
use crate::fetch::{Fetched, Fetcher};
use crate::launch::{Launcher, Unscored};
use crate::machine::Share;
use crate::models::Models;
use crate::paths::local::LocalFile;
use crate::paths::{Redacted, Roots};
use crate::publish::Publisher;
use crate::scratch::Scratch;
use crate::task::{ExternalEngine, Input, Limits, RawVideo, Score, Task};

/// A report is a few hundred bytes per frame.
const LONGEST_REPORT: u64 = 4 << 30;

/// Workers that a job may use up. Whatever killed the first may have had nothing to do with the job, and what a node
/// reports is final; a clip that kills two would kill the third as well.
const WORKERS: u32 = 2;

/// How jobs are scored here.
#[derive(Clone, Debug)]
pub struct Scoring {
    /// What a slot gets of the machine.
    pub share: Share,
    /// The backend of this node.
    pub backend: String,
    /// The decoder.
    pub ffmpeg: Option<PathBuf>,
    /// A program that scores instead of the worker itself.
    pub engine: Option<PathBuf>,
    /// A worker without progress for this long is ended.
    pub stall: Duration,
    /// And so is one that takes longer than this.
    pub deadline: Option<Duration>,
    /// CPU time of each process of a job.
    pub cpu: Duration,
}

/// Scores jobs.
#[derive(Debug)]
pub struct Scorer {
    /// How.
    pub scoring: Scoring,
    /// Gets inputs.
    pub fetcher: Fetcher,
    /// Finds models.
    pub models: Models,
    /// Where a job may write.
    pub scratch: Scratch,
    /// Starts workers.
    pub launcher: Launcher,
}

/// A job with a score.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// What the worker says.
    pub score: Score,
    /// The backend it was computed on.
    pub backend: String,
    /// Where the per-frame report is; empty: none was asked for.
    pub report_uri: String,
}

impl Scorer {
    /// Scores one job. Cancelled at any point, it ends soon and leaves nothing behind.
    pub async fn score(
        &self,
        job: &Job,
        cancel: &CancellationToken,
        progress: impl FnMut(u64, u64),
    ) -> Result<Scored, Unscored> {
        let Some(scoring) = &job.scoring else {
            return Err(Failure::new(Reason::OptionsInvalid, "the job does not say what to score").into());
        };
        let roots = Roots::parse(&job.scoring_roots)?;
        let backend = self.backend(scoring)?;
        let asked = wire::asked(scoring)?;
        let publisher = Publisher::new(&self.fetcher);
        if !scoring.report_uri.is_empty() {
            publisher.check(&scoring.report_uri, &roots)?;
        }
        let (reference, distorted) = tokio::try_join!(
            self.fetch(&scoring.reference, &roots, cancel),
            self.fetch(&scoring.distorted, &roots, cancel)
        )?;
        let model = self.models.find(&scoring.model, cancel).await?;
        let directory = self.scratch.job_directory().map_err(|error| {
            Failure::new(
                Reason::ScratchFull,
                format!("there is no room for the job's own files: {}", error.source),
            )
        })?;
        let report = (!scoring.report_uri.is_empty())
            .then(|| directory.path().join(format!("report.{}", ending(&scoring.report_uri))));

        let task = Task {
            reference: input(&reference, &scoring.reference, asked.raw.clone()),
            distorted: input(&distorted, &scoring.distorted, asked.raw),
            model: (*model).clone(),
            features: scoring.features.clone(),
            frame_step: asked.frame_step,
            scale_to: asked.scale_to,
            shortest: asked.shortest,
            threads: self.scoring.share.threads,
            report: report.clone(),
            ffmpeg: self.scoring.ffmpeg.clone(),
            engine: self
                .scoring
                .engine
                .clone()
                .map(|program| ExternalEngine { program, backend: backend.clone() }),
            limits: Limits {
                memory_bytes: self.scoring.share.memory,
                cpu_seconds: self.scoring.cpu.as_secs(),
                file_bytes: LONGEST_REPORT,
                scratch: directory.path().to_owned(),
            },
        };
        let score = self.work(&task, progress, cancel).await?;
        if let Some(report) = &report {
            publisher.publish(report, &scoring.report_uri, &roots, cancel).await?;
        }
        Ok(Scored { score, backend, report_uri: scoring.report_uri.clone() })
    }

    /// Has a worker do it, and another one if that dies.
    async fn work(
        &self,
        task: &Task,
        mut progress: impl FnMut(u64, u64),
        cancel: &CancellationToken,
    ) -> Result<Score, Unscored> {
        let begun = Instant::now();
        let (mut workers, mut left) = (1, self.scoring.deadline);
        loop {
            let ended = self.launcher.run(task, &mut progress, cancel, self.scoring.stall, left).await;
            match ended {
                Err(Unscored::Failed(failure))
                    if failure.reason == Reason::WorkerCrashed && workers < WORKERS =>
                {
                    workers += 1;
                    left = self.scoring.deadline.map(|deadline| deadline.saturating_sub(begun.elapsed()));
                    tracing::warn!(cause = failure.message, "the worker died; the job gets another one");
                }
                ended => return ended,
            }
        }
    }

    async fn fetch(
        &self,
        uri: &str,
        roots: &Roots,
        cancel: &CancellationToken,
    ) -> Result<Arc<Fetched>, Failure> {
        self.fetcher.fetch(uri, roots, cancel, &|_| {}).await
    }

    /// A node computes on one backend, and does not fall back to another.
    fn backend(&self, scoring: &ScoringParams) -> Result<String, Failure> {
        let ours = &self.scoring.backend;
        if scoring.backend.is_empty() || scoring.backend == *ours {
            return Ok(ours.clone());
        }
        let text = format!("the job asks for backend {}, and this node serves {ours}", scoring.backend);
        Err(Failure::new(Reason::OptionsInvalid, text))
    }
}

fn input(fetched: &Fetched, uri: &str, raw: Option<RawVideo>) -> Input {
    let is_y4m = uri.to_ascii_lowercase().ends_with(".y4m");
    Input {
        path: fetched.to_path_buf(),
        file: fetched.in_place().map(LocalFile::id),
        name: Redacted(uri).to_string(),
        // The shape is for files without a header; one of the two clips may have one.
        raw: raw.filter(|_| !is_y4m),
    }
}

/// The format of a report is told by its address.
fn ending(uri: &str) -> &'static str {
    let path = uri.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    ["csv", "html"].into_iter().find(|ending| path.ends_with(&format!(".{ending}"))).unwrap_or("json")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("s3://b/report.csv", "csv")]
    #[case("https://h/r.HTML?sig=x.csv", "html")]
    #[case("/data/report", "json")]
    fn a_report_is_written_in_the_format_its_address_tells(#[case] uri: &str, #[case] expected: &str) {
        assert_eq!(ending(uri), expected);
    }
}
