//! Digests of the inputs.
//!
//! A file that this process reads from end to end is hashed while it is scored. The others (decoded by `ffmpeg`, read in
//! chunks, or not from the start) are read a second time, in a thread beside the scoring.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use tokio_util::sync::{CancellationToken, DropGuard};

use super::pass::ProbedClip;
use super::plan::ScoringPlan;
use super::{Request, ScoreError};
use crate::input::{DigestTable, InputError, ReadActivity, digest_until, reads_without_ffmpeg};

/// Digests that are being computed. Dropping this stops the thread without waiting for it, so that a failed run ends at once.
pub(super) struct PendingDigests {
    table: DigestTable,
    paths: Vec<PathBuf>,
    thread: Option<JoinHandle<Result<(), InputError>>>,
    activity: ReadActivity,
    stop: CancellationToken,
    _guard: DropGuard,
}

impl PendingDigests {
    /// Starts a thread for the files that no pass reads from end to end.
    pub(super) fn start(
        request: &Request,
        plan: &ScoringPlan,
        reference: ProbedClip<'_>,
        distorted: &[ProbedClip<'_>],
        cancel: &CancellationToken,
    ) -> Result<Self, ScoreError> {
        let first = (
            reference,
            request.reference_offset,
            plan.groups.iter().any(|group| reads_without_ffmpeg(reference.probe, group.format)),
        );
        let others = distorted.iter().zip(&plan.comparisons).map(|(clip, comparison)| {
            (*clip, request.distorted_offset, reads_without_ffmpeg(clip.probe, comparison.format))
        });
        let (mut paths, mut unread) = (Vec::new(), Vec::new());
        for (ProbedClip { clip, .. }, offset, read_here) in std::iter::once(first).chain(others) {
            paths.push(clip.path.clone());
            if !read_here || offset > 0 || request.chunks > 1 {
                unread.push(clip.path.clone());
            }
        }
        let (table, stop) = (DigestTable::default(), cancel.child_token());
        let thread = if unread.is_empty() {
            None
        } else {
            let path = reference.clip.path.clone();
            let (table, stop) = (table.clone(), stop.clone());
            let activity = request.activity.clone();
            let work = move || complete(&table, &unread, &activity, &stop);
            let thread = thread::Builder::new().name("digest".to_owned()).spawn(work);
            Some(thread.map_err(|source| ScoreError::Thread { path, source })?)
        };
        let activity = request.activity.clone();
        Ok(Self { table, paths, thread, activity, _guard: stop.clone().drop_guard(), stop })
    }

    /// Where passes insert the digests of the files that they read.
    pub(super) fn table(&self) -> &DigestTable {
        &self.table
    }

    /// Waits for the thread, and reads the files that no pass has read to the end after all.
    pub(super) fn finish(mut self) -> Result<BTreeMap<PathBuf, String>, ScoreError> {
        if let Some(thread) = self.thread.take() {
            let gone = |_| ScoreError::ReaderGone { path: self.paths.first().cloned().unwrap_or_default() };
            thread.join().map_err(gone)??;
        }
        complete(&self.table, &self.paths, &self.activity, &self.stop)?;
        Ok(self.paths.iter().filter_map(|path| Some((path.clone(), self.table.get(path)?))).collect())
    }
}

/// Computes the digests that are missing.
fn complete(
    table: &DigestTable,
    paths: &[PathBuf],
    activity: &ReadActivity,
    stop: &CancellationToken,
) -> Result<(), InputError> {
    for path in paths {
        if table.get(path).is_none() {
            table.insert(path, digest_until(path, activity, || stop.is_cancelled())?);
        }
    }
    Ok(())
}
