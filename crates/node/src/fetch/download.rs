//! From a source into a file, whole or not at all.

use futures::StreamExt as _;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::deadline::Deadline;
use super::error::Problem;
use super::progress::Progress;
use super::settings::Limits;
use super::source::{Meta, Opened, Source};
use crate::scratch::{Full, Patience, Scratch, ScratchFile};

/// Room for a file of unknown length grows by this much.
const STEP: u64 = 64 << 20;

/// With this much between two breaks the attempts are counted from the start: a long file may break many times.
const PROGRESS: u64 = 8 << 20;

/// Brings the rest of an opened file, and begins again where it breaks.
pub(super) async fn download(
    source: &Source,
    mut opened: Opened,
    scratch: &Scratch,
    limits: &Limits,
    deadline: Deadline,
    told: &watch::Sender<Progress>,
) -> Result<ScratchFile, Problem> {
    let meta = opened.meta.clone();
    let mut file = scratch.file()?;
    fits(&meta, limits)?;
    if let Some(length) = meta.length {
        file.reserve(length, Patience::Waits).await?;
    }
    let mut pauses = limits.pauses();
    let mut last_break = 0;
    deadline
        .within(async {
            loop {
                file.rewind(opened.start).await?;
                let problem = match read(opened, &meta, &mut file, limits, told).await {
                    Ok(()) => return Ok(()),
                    Err(problem) if problem.is_transient() => problem,
                    Err(problem) => return Err(problem),
                };
                if file.length().saturating_sub(last_break) >= PROGRESS {
                    pauses = limits.pauses();
                }
                last_break = file.length();
                tracing::debug!(%problem, bytes = file.length(), "the download broke");
                opened = reopen(source, &meta, file.length(), &mut pauses, problem).await?;
            }
        })
        .await?;
    file.finish().await?;
    Ok(file)
}

/// Opens it again: from where it broke if its version can be named, else from the beginning.
async fn reopen(
    source: &Source,
    meta: &Meta,
    got: u64,
    pauses: &mut impl Iterator<Item = std::time::Duration>,
    mut problem: Problem,
) -> Result<Opened, Problem> {
    let from = if meta.version.is_some() { got } else { 0 };
    loop {
        let Some(pause) = pauses.next() else { return Err(problem) };
        sleep(pause).await;
        problem = match source.open(from, meta.version.as_ref()).await {
            Ok(opened) if opened.meta.version != meta.version || opened.start > from => {
                return Err(Problem::Changed);
            }
            // Another length of what claims to be the same is no longer the same.
            Ok(opened) if opened.meta.length != meta.length => return Err(Problem::Changed),
            Ok(opened) => return Ok(opened),
            Err(problem) if problem.is_transient() => problem,
            Err(problem) => return Err(problem),
        };
    }
}

fn fits(meta: &Meta, limits: &Limits) -> Result<(), Problem> {
    match meta.length {
        Some(length) if length > limits.bytes => {
            Err(Problem::TooLarge { length: Some(length), limit: limits.bytes })
        }
        _ => Ok(()),
    }
}

/// Reads to the end, which is where the source said it would be.
async fn read(
    mut opened: Opened,
    meta: &Meta,
    file: &mut ScratchFile,
    limits: &Limits,
    told: &watch::Sender<Progress>,
) -> Result<(), Problem> {
    loop {
        let piece = timeout(limits.idle, opened.body.next()).await;
        let piece = piece.map_err(|_| Problem::Silent { what: "the source", limit: limits.idle })?;
        let Some(piece) = piece else { break };
        let piece = match piece {
            Ok(piece) => piece,
            Err(Problem::Cut { .. }) => return Err(cut(file, meta)),
            Err(problem) => return Err(problem),
        };
        let length = file.length() + piece.len() as u64;
        if length > limits.bytes {
            return Err(Problem::TooLarge { length: None, limit: limits.bytes });
        }
        if meta.length.is_some_and(|declared| length > declared) {
            return Err(Problem::Changed);
        }
        if length > file.room() {
            grow(file, length).await?;
        }
        file.write(&piece).await?;
        told.send_replace(Progress { bytes: length, of: meta.length });
    }
    match meta.length {
        Some(declared) if declared != file.length() => Err(cut(file, meta)),
        _ => Ok(()),
    }
}

/// Room for at least this many bytes, and for some more if there is.
async fn grow(file: &mut ScratchFile, length: u64) -> Result<(), Full> {
    match file.reserve(length.max(file.room() + STEP), Patience::None).await {
        Err(_) => file.reserve(length, Patience::Waits).await,
        ample => ample,
    }
}

fn cut(file: &ScratchFile, meta: &Meta) -> Problem {
    let of = meta.length.map_or("an unknown number of".to_owned(), |length| length.to_string());
    Problem::Cut { got: file.length(), of }
}
