//! The job: inputs here, a worker, the report there.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use vmafx_scoring::input::Tools;

use super::args::RunOnceArgs;
use crate::failure::{Failure, Reason};
use crate::fetch::{Fetched, Fetcher, StoreVariables};
use crate::launch::{Launcher, Unscored};
use crate::machine::Machine;
use crate::models::{Models, RegistryCredentials};
use crate::paths::local::LocalFile;
use crate::paths::{Redacted, Roots};
use crate::publish::Publisher;
use crate::scratch::Scratch;
use crate::task::{ExternalEngine, Input, Limits, Score, Task};

/// Largest report.
const REPORT_BYTES: u64 = 4 << 30;

/// Between two lines of the log on progress.
const PACE: Duration = Duration::from_secs(10);

pub(super) async fn score(args: &RunOnceArgs, cancel: &CancellationToken) -> Result<Score, Failure> {
    let roots = Roots::parse(&args.scoring_roots)?;
    let scratch = Scratch::open(&args.scratch).map_err(|error| broken(&error))?;
    let fetcher = Fetcher::new(&args.fetch, &StoreVariables::of_process(), scratch.clone())
        .map_err(|error| broken(&error))?;
    let publisher = Publisher::new(&fetcher);
    if let Some(uri) = &args.report_uri {
        publisher.check(uri, &roots)?;
    }
    let models = Models::new(&args.models, RegistryCredentials::of_process(), &fetcher)
        .map_err(|error| broken(&error))?;
    let fetch = |uri| fetcher.fetch(uri, &roots, cancel, &|_| {});
    let (reference, distorted, model) = tokio::try_join!(
        fetch(args.reference.as_str()),
        fetch(args.distorted.as_str()),
        models.find(&args.model, cancel)
    )?;
    let directory = scratch.job_directory().map_err(|error| broken(&error))?;
    let share = Machine::of_this_process().share(1);
    let task = Task {
        reference: input(&reference, &args.reference, args),
        distorted: input(&distorted, &args.distorted, args),
        model: model.clone(),
        features: args.features.clone(),
        frame_step: args.frame_step,
        scale_to: args.scale_to,
        shortest: args.shortest(),
        threads: share.threads,
        report: args.report_uri.as_deref().map(|uri| directory.path().join(report_name(uri))),
        ffmpeg: ffmpeg(args),
        engine: engine(args),
        limits: Limits {
            memory_bytes: share.memory,
            cpu_seconds: 0,
            file_bytes: REPORT_BYTES,
            scratch: directory.path().to_owned(),
        },
    };
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(Reason::Internal, format!("this program cannot be found: {error}")))?;
    let stall = args.stall_timeout.0;
    let scored = Launcher::new(program)
        .run(&task, logged(), cancel, stall, args.deadline.map(|deadline| deadline.0))
        .await
        .map_err(|unscored| match unscored {
            Unscored::Failed(failure) => failure,
            Unscored::Cancelled => Failure::new(Reason::Internal, "the job was cancelled"),
        })?;
    if let (Some(uri), Some(file)) = (&args.report_uri, &task.report) {
        publisher.publish(file, uri, &roots, cancel).await?;
    }
    Ok(scored)
}

fn input(fetched: &Fetched, uri: &str, args: &RunOnceArgs) -> Input {
    let file = fetched.in_place().map(LocalFile::id);
    Input { path: fetched.to_path_buf(), file, name: Redacted(uri).to_string(), raw: args.raw() }
}

/// The kind of a report is that of its address.
fn report_name(uri: &str) -> String {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str()).unwrap_or("json");
    format!("report.{}", ending.to_ascii_lowercase())
}

/// The one that is named, or the first in `PATH`.
fn ffmpeg(args: &RunOnceArgs) -> Option<std::path::PathBuf> {
    args.ffmpeg_bin.clone().or_else(|| {
        let path = std::env::var_os("PATH");
        Tools::from_env(None, path.as_deref()).ffmpeg().map(Into::into)
    })
}

fn engine(args: &RunOnceArgs) -> Option<ExternalEngine> {
    let program = args.vmaf_binary.clone().filter(|_| args.backend != "cpu")?;
    Some(ExternalEngine { program, backend: args.backend.clone() })
}

/// Logs progress now and then.
fn logged() -> impl FnMut(u64, u64) {
    let mut said = Instant::now();
    move |done, total| {
        if said.elapsed() >= PACE {
            said = Instant::now();
            tracing::info!(done, total, "scoring");
        }
    }
}

fn broken(error: &dyn std::error::Error) -> Failure {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::new(Reason::Internal, format!("{error}{cause}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("s3://bucket/a/b.JSON", "report.json")]
    #[case("https://host/r.csv?signature=x.y", "report.csv")]
    #[case("/data/r.html", "report.html")]
    #[case("/data.d/report", "report.json")]
    fn the_kind_of_a_report_is_that_of_its_address(#[case] uri: &str, #[case] name: &str) {
        assert_eq!(report_name(uri), name);
    }
}
