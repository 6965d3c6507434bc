//! Digests of the inputs.
//!
//! A file that this process reads from end to end is hashed on the way. The others (decoded by `ffmpeg`, read in pieces,
//! or not from the start) are read a second time, in a thread beside the scoring.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use tokio_util::sync::{CancellationToken, DropGuard};

use super::pass::Found;
use super::plan::Plan;
use super::{Request, ScoreError};
use crate::input::{DigestBook, InputError, digest_until, reads_itself};

/// Digests under way. Dropping it ends the thread; it is not waited for, so that a run which fails ends at once.
pub(super) struct Digests {
    book: DigestBook,
    paths: Vec<PathBuf>,
    thread: Option<JoinHandle<Result<(), InputError>>>,
    stop: CancellationToken,
    _guard: DropGuard,
}

impl Digests {
    /// Starts with the files that no pass will read from end to end.
    pub(super) fn start(
        request: &Request,
        plan: &Plan,
        reference: Found<'_>,
        distorted: &[Found<'_>],
        cancel: &CancellationToken,
    ) -> Result<Self, ScoreError> {
        let ours = (
            reference,
            request.reference_offset,
            plan.groups.iter().any(|g| reads_itself(reference.probe, g.format)),
        );
        let theirs = distorted.iter().zip(&plan.comparisons).map(|(found, comparison)| {
            (*found, request.distorted_offset, reads_itself(found.probe, comparison.format))
        });
        let (mut paths, mut apart) = (Vec::new(), Vec::new());
        for (found, offset, read_here) in std::iter::once(ours).chain(theirs) {
            paths.push(found.clip.path.clone());
            if !read_here || offset > 0 || request.chunks > 1 {
                apart.push(found.clip.path.clone());
            }
        }
        let (book, stop) = (DigestBook::default(), cancel.child_token());
        let thread = if apart.is_empty() {
            None
        } else {
            let path = reference.clip.path.clone();
            let (book, stop) = (book.clone(), stop.clone());
            let work = move || complete(&book, &apart, &stop);
            let thread = thread::Builder::new().name("digest".to_owned()).spawn(work);
            Some(thread.map_err(|source| ScoreError::Thread { path, source })?)
        };
        Ok(Self { book, paths, thread, _guard: stop.clone().drop_guard(), stop })
    }

    /// Where passes enter what they find.
    pub(super) fn book(&self) -> &DigestBook {
        &self.book
    }

    /// All of them: waits for the thread, and reads what was not read to its end after all.
    pub(super) fn finish(mut self) -> Result<BTreeMap<PathBuf, String>, ScoreError> {
        if let Some(thread) = self.thread.take() {
            let gone = |_| ScoreError::ReaderGone { path: self.paths.first().cloned().unwrap_or_default() };
            thread.join().map_err(gone)??;
        }
        complete(&self.book, &self.paths, &self.stop)?;
        Ok(self.paths.iter().filter_map(|path| Some((path.clone(), self.book.get(path)?))).collect())
    }
}

/// Computes what the book does not have yet.
fn complete(book: &DigestBook, paths: &[PathBuf], stop: &CancellationToken) -> Result<(), InputError> {
    for path in paths {
        if book.get(path).is_none() {
            book.enter(path, digest_until(path, || stop.is_cancelled())?);
        }
    }
    Ok(())
}
