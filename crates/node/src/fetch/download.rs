//! Downloads a source into a file, completely or not at all.

use futures::StreamExt as _;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::deadline::FetchDeadline;
use super::error::FetchProblem;
use super::progress::DownloadProgress;
use super::settings::FetchLimits;
use super::source::{FileMetadata, OpenedSource, Source};
use crate::scratch::{ReserveMode, Scratch, ScratchFile, ScratchFull};

/// Space for a file of unknown length is reserved in steps of this size.
const RESERVE_STEP: u64 = 64 << 20;

/// After this much progress the attempts are counted from the start, because a long download may break many times.
const RETRY_RESET_BYTES: u64 = 8 << 20;

/// Reads an opened source to its end, and resumes where the connection breaks.
pub(super) async fn download(
    source: &Source,
    mut opened: OpenedSource,
    scratch: &Scratch,
    limits: &FetchLimits,
    deadline: FetchDeadline,
    progress: &watch::Sender<DownloadProgress>,
) -> Result<ScratchFile, FetchProblem> {
    let metadata = opened.metadata.clone();
    let mut file = scratch.file()?;
    check_length(&metadata, limits)?;
    if let Some(length) = metadata.length {
        file.reserve(length, ReserveMode::Wait).await?;
    }
    let mut delays = limits.retry_delays();
    let mut last_break = 0;
    deadline
        .within(async {
            loop {
                file.rewind(opened.start).await?;
                let problem = match read(opened, &metadata, &mut file, limits, progress).await {
                    Ok(()) => return Ok(()),
                    Err(problem) if problem.is_transient() => problem,
                    Err(problem) => return Err(problem),
                };
                if file.length().saturating_sub(last_break) >= RETRY_RESET_BYTES {
                    delays = limits.retry_delays();
                }
                last_break = file.length();
                tracing::debug!(%problem, bytes = file.length(), "the connection broke");
                opened = reopen(source, &metadata, file.length(), &mut delays, problem).await?;
            }
        })
        .await?;
    file.finish().await?;
    Ok(file)
}

/// Opens the source again: at the byte where it broke if its version is known, otherwise at the beginning.
async fn reopen(
    source: &Source,
    metadata: &FileMetadata,
    received: u64,
    delays: &mut impl Iterator<Item = std::time::Duration>,
    mut problem: FetchProblem,
) -> Result<OpenedSource, FetchProblem> {
    let from = if metadata.version.is_some() { received } else { 0 };
    loop {
        let Some(delay) = delays.next() else { return Err(problem) };
        sleep(delay).await;
        problem = match source.open(from, metadata.version.as_ref()).await {
            Ok(opened) if opened.metadata.version != metadata.version || opened.start > from => {
                return Err(FetchProblem::Changed);
            }
            // Another length contradicts the claim that it is the same version.
            Ok(opened) if opened.metadata.length != metadata.length => return Err(FetchProblem::Changed),
            Ok(opened) => return Ok(opened),
            Err(problem) if problem.is_transient() => problem,
            Err(problem) => return Err(problem),
        };
    }
}

fn check_length(metadata: &FileMetadata, limits: &FetchLimits) -> Result<(), FetchProblem> {
    match metadata.length {
        Some(length) if length > limits.max_bytes => {
            Err(FetchProblem::TooLarge { length: Some(length), limit: limits.max_bytes })
        }
        _ => Ok(()),
    }
}

/// Reads to the end, which must be at the declared length.
async fn read(
    mut opened: OpenedSource,
    metadata: &FileMetadata,
    file: &mut ScratchFile,
    limits: &FetchLimits,
    progress: &watch::Sender<DownloadProgress>,
) -> Result<(), FetchProblem> {
    loop {
        let chunk = timeout(limits.idle, opened.body.next()).await;
        let chunk = chunk.map_err(|_| FetchProblem::TimedOut { what: "the source", limit: limits.idle })?;
        let Some(chunk) = chunk else { break };
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(FetchProblem::Cut { .. }) => return Err(cut_off(file, metadata)),
            Err(problem) => return Err(problem),
        };
        let length = file.length() + chunk.len() as u64;
        if length > limits.max_bytes {
            return Err(FetchProblem::TooLarge { length: None, limit: limits.max_bytes });
        }
        if metadata.length.is_some_and(|declared| length > declared) {
            return Err(FetchProblem::Changed);
        }
        if length > file.reserved() {
            reserve_more(file, length).await?;
        }
        file.write(&chunk).await?;
        progress.send_replace(DownloadProgress { bytes: length, of: metadata.length });
    }
    match metadata.length {
        Some(declared) if declared != file.length() => Err(cut_off(file, metadata)),
        _ => Ok(()),
    }
}

/// Reserves space for at least this many bytes, and for some more if there is.
async fn reserve_more(file: &mut ScratchFile, length: u64) -> Result<(), ScratchFull> {
    match file.reserve(length.max(file.reserved() + RESERVE_STEP), ReserveMode::Try).await {
        Err(_) => file.reserve(length, ReserveMode::Wait).await,
        reserved => reserved,
    }
}

fn cut_off(file: &ScratchFile, metadata: &FileMetadata) -> FetchProblem {
    let of = metadata.length.map_or("an unknown number of".to_owned(), |length| length.to_string());
    FetchProblem::Cut { received: file.length(), of }
}
