//! Scores one request, in the same way for a job of the queue and for `run-once`.
//!
//! ```text
//! check ──▶ fetch clips, find model ──▶ worker, a second one after a crash ──▶ publish report
//! ```
//!
//! | rule                                                                    | guarded by `tests/frontends`                    |
//! |-------------------------------------------------------------------------|-------------------------------------------------|
//! | a bad request fails before anything is fetched                          | `a_bad_request_fails_before_anything_is_fetched` |
//! | both clips get the description of raw video, and those with a header ignore it | `a_clip_with_a_header_is_read_by_its_header…` |
//! | the ending of the report's address tells its format                     | `the_ending_of_the_reports_address_tells_…`     |
//! | a job whose worker crashes gets a second worker, and no third           | `a_job_whose_worker_crashes_gets_a_second_one…` |

mod clip_sizes;
mod settings;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vmafx_job::{
    Backend, Confinement, Failure, FailureReason, FeatureEngine, InvalidRequest, RawVideo, ReportFormat,
    ScoreResult, ScoringRequest,
};

use crate::confine::ConfinementPolicy;
use crate::fetch::{DownloadProgress, FetchProblem, FetchedFile, Fetcher, StoreVariables};
use crate::launch::{Launcher, Unscored};
use crate::machine::SlotShare;
use crate::models::{Models, RegistryCredentials, ResolvedModel};
use crate::paths::local::LocalFile;
use crate::paths::{RedactedUri, ScoringRoots};
use crate::publish::{Publisher, WriteMode};
use crate::scratch::Scratch;
use crate::task::{ClipFile, ExternalEngine, Task, WorkerLimits};

use clip_sizes::ClipSizes;
pub use settings::{ScorerError, ScorerSettings};

/// A report has a few hundred bytes per frame.
const MAX_REPORT_BYTES: u64 = 4 << 30;

/// Workers that a job may use up. The crash of the first may have had nothing to do with the job; a clip that crashes two
/// workers would crash a third as well.
const MAX_WORKERS: u32 = 2;

/// Resources and time of each job.
#[derive(Clone, Copy, Debug)]
pub struct JobLimits {
    pub share: SlotShare,
    /// A worker that makes no progress for this long is killed.
    pub stall_timeout: Duration,
    /// Time for the workers of a job together; `None`: unlimited.
    pub deadline: Option<Duration>,
}

/// What is not part of the request.
#[derive(Debug)]
pub struct ScoringContext<'a, P> {
    /// Locations that may be read, as configured.
    pub scoring_roots: &'a [String],
    /// Locations to which the report may be written; none: the scoring roots.
    pub report_roots: &'a [String],
    pub cancel: &'a CancellationToken,
    /// Whether neither an earlier attempt nor an earlier job for the same resource can have written the report.
    pub report_is_new: bool,
    /// Called with the frame pairs scored and expected (0: unknown).
    pub progress: P,
}

#[derive(Debug)]
pub struct Scorer {
    backend: Backend,
    engine: Option<PathBuf>,
    features: FeatureEngine,
    ffmpeg: Option<PathBuf>,
    cpu_limit: Duration,
    limits: JobLimits,
    confinement: ConfinementPolicy,
    scratch: Scratch,
    fetcher: Fetcher,
    models: Models,
    publisher: Publisher,
    launcher: Launcher,
}

impl Scorer {
    /// Opens the scratch directory and the clients. Blocks; called once, at the start.
    pub fn open(
        settings: &ScorerSettings,
        limits: JobLimits,
        launcher: Launcher,
    ) -> Result<Self, ScorerError> {
        let engine = settings.external_engine()?;
        let scratch = Scratch::open(&settings.scratch)?;
        let fetcher = Fetcher::new(&settings.fetch, &StoreVariables::of_process(), scratch.clone())?;
        Ok(Self {
            backend: settings.backend,
            engine,
            features: settings.engine,
            ffmpeg: settings.ffmpeg_bin.clone(),
            cpu_limit: settings.worker_cpu.0,
            limits,
            confinement: settings.confinement,
            models: Models::new(&settings.models, RegistryCredentials::of_process(), &fetcher)?,
            publisher: Publisher::new(&fetcher),
            scratch,
            fetcher,
            launcher,
        })
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// How far a worker on this machine is confined; an error if that is less than the settings require.
    pub async fn probe_confinement(&self) -> Result<Confinement, Failure> {
        // A probe writes nothing, so it needs no directory of its own.
        let confinement = self.launcher.probe(&self.worker_limits(Path::new("/"))).await?;
        self.confinement.check(&confinement)?;
        Ok(confinement)
    }

    fn worker_limits(&self, scratch: &Path) -> WorkerLimits {
        WorkerLimits {
            memory_bytes: self.limits.share.memory,
            cpu_seconds: self.cpu_limit.as_secs(),
            file_bytes: MAX_REPORT_BYTES,
            scratch: scratch.to_owned(),
        }
    }

    /// Scores a request. Cancelled at any point, it returns soon and leaves nothing behind.
    pub async fn score(
        &self,
        request: &ScoringRequest,
        context: ScoringContext<'_, impl FnMut(u64, u64)>,
    ) -> Result<ScoreResult, Unscored> {
        let cancel = context.cancel;
        match self.score_until_failure(request, context).await {
            // The failure of an interrupted step is a consequence of the cancellation.
            Err(_) if cancel.is_cancelled() => Err(Unscored::Cancelled),
            result => result,
        }
    }

    async fn score_until_failure(
        &self,
        request: &ScoringRequest,
        context: ScoringContext<'_, impl FnMut(u64, u64)>,
    ) -> Result<ScoreResult, Unscored> {
        let (cancel, progress) = (context.cancel, context.progress);
        let report_format = self.check(request)?;
        let roots = ScoringRoots::parse(context.scoring_roots)?;
        let report_roots = roots.clone().of_report(context.report_roots)?;
        let write_mode = WriteMode::of(request.overwrite_report);
        if let Some(uri) = &request.report_uri {
            self.publisher.check(uri, &report_roots)?;
            if context.report_is_new && write_mode == WriteMode::Create {
                self.publisher.check_absent(uri, &report_roots).await?;
            }
        }
        let (reference, distorted, model) = self.gather(request, &roots, cancel).await?;
        let directory = self.scratch.job_directory().map_err(|error| {
            let problem = FetchProblem::from(error);
            Failure::new(problem.reason(), problem.to_string())
        })?;
        let task = Task {
            reference: clip_file(&reference, &request.reference, request.input),
            distorted: clip_file(&distorted, &request.distorted, request.input),
            model: (*model).clone(),
            options: request.options.clone(),
            threads: self.limits.share.threads,
            report: report_format.map(|format| directory.path().join(format!("report.{format}"))),
            ffmpeg: self.ffmpeg.clone(),
            features: self.features,
            engine: self.engine.clone().map(|program| ExternalEngine { program, backend: self.backend }),
            limits: self.worker_limits(directory.path()),
            confinement: self.confinement,
        };
        let mut result = self.run_workers(&task, progress, cancel).await?;
        if let Some((name, value)) = result.not_finite() {
            let message = format!("the engine computed {value} for {name}");
            return Err(Failure::new(FailureReason::Internal, message).into());
        }
        let details = result.details.get_or_insert_default();
        self.backend.name().clone_into(&mut details.backend);
        if let (Some(file), Some(uri)) = (&task.report, &request.report_uri) {
            self.publisher.publish(file, uri, &report_roots, write_mode, cancel).await?;
            details.report_uri.clone_from(uri);
        }
        Ok(result)
    }

    /// Fetches the clips and finds the model.
    async fn gather(
        &self,
        request: &ScoringRequest,
        roots: &ScoringRoots,
        cancel: &CancellationToken,
    ) -> Result<(Arc<FetchedFile>, Arc<FetchedFile>, ResolvedModel), Failure> {
        let sizes = ClipSizes::new(&self.scratch);
        let (reference, distorted) = (request.reference.as_str(), request.distorted.as_str());
        let first = |progress: DownloadProgress| sizes.declare(0, progress.of);
        // A clip that is compared with itself is downloaded once.
        let second = |progress: DownloadProgress| {
            if reference != distorted {
                sizes.declare(1, progress.of);
            }
        };
        let gathered = async {
            tokio::try_join!(
                self.fetcher.fetch(reference, roots, cancel, &first),
                self.fetcher.fetch(distorted, roots, cancel, &second),
                self.models.find(request.model.as_deref().unwrap_or_default(), cancel)
            )
        };
        tokio::select! {
            biased;
            failure = sizes.exceeded() => Err(failure),
            gathered = gathered => gathered,
        }
    }

    /// Checks everything that can be known before anything is fetched; returns the report's format if one is asked for.
    fn check(&self, request: &ScoringRequest) -> Result<Option<ReportFormat>, Failure> {
        let invalid = |field: &str, problem: String| invalid_request(&InvalidRequest::new(field, problem));
        request.check().map_err(|error| invalid_request(&error))?;
        let ours = self.backend;
        if let Some(requested) = request.backend.filter(|backend| *backend != ours) {
            return Err(invalid(
                "backend",
                format!("is {requested}, and this node computes with {ours} only"),
            ));
        }
        let format = request.report_uri.as_deref().map(ReportFormat::of_uri).transpose();
        let format = format.map_err(|error| invalid("report_uri", error.to_string()))?;
        if self.engine.is_some() && format.is_some_and(|format| format != ReportFormat::Json) {
            let problem = format!("must end in .json: the engine of backend {ours} writes no other format");
            return Err(invalid("report_uri", problem));
        }
        Ok(format)
    }

    /// Runs the task in a worker, and in another one if that crashes.
    async fn run_workers(
        &self,
        task: &Task,
        mut progress: impl FnMut(u64, u64),
        cancel: &CancellationToken,
    ) -> Result<ScoreResult, Unscored> {
        let JobLimits { stall_timeout, deadline, .. } = self.limits;
        let start = Instant::now();
        let (mut workers, mut left) = (1, deadline);
        loop {
            match self.launcher.run(task, &mut progress, cancel, stall_timeout, left).await {
                Err(Unscored::Failed(failure))
                    if failure.reason == FailureReason::WorkerCrashed && workers < MAX_WORKERS =>
                {
                    workers += 1;
                    left = deadline.map(|deadline| deadline.saturating_sub(start.elapsed()));
                    tracing::warn!(cause = failure.message, "the worker crashed; starting another one");
                }
                result => return result,
            }
        }
    }
}

/// The failure of a request with a field that cannot be accepted.
pub(crate) fn invalid_request(error: &InvalidRequest) -> Failure {
    Failure::new(FailureReason::OptionsInvalid, error.to_string())
}

fn clip_file(fetched: &FetchedFile, uri: &str, raw: Option<RawVideo>) -> ClipFile {
    ClipFile {
        path: fetched.to_path_buf(),
        file: fetched.in_place().map(LocalFile::id),
        name: RedactedUri(uri).to_string(),
        raw,
    }
}
