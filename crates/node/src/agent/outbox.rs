//! Finished results on disk, until the controller has answered.
//!
//! ```text
//! VMAFX_OUTBOX_DIR/
//!   .lock                    held while a file is created or the directory is searched
//!   <job>.<attempt>.json     one result, 0600; locked by the process that delivers it
//!   <name>.unreadable        a file that this program does not understand
//! ```
//!
//! A result is written before it is reported: to a temporary file that is synced and renamed, so a file is complete or does
//! not exist. It is removed when the controller has accepted or refused it. The files of a process that was killed have no
//! lock any more, because the kernel (`flock`) releases it; the next process delivers them. The session's credentials are
//! part of the file, because only they prove that the attempt belonged to this node.
//!
//! Nothing here keeps a node from working: a result that cannot be written is reported from memory, and a file that cannot
//! be understood is renamed and logged.

mod stored_report;

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

pub(super) use self::stored_report::StoredReport;

const LOCK_FILE: &str = ".lock";
const SUFFIX: &str = ".json";
const TEMPORARY_SUFFIX: &str = ".tmp";
const UNREADABLE_SUFFIX: &str = ".unreadable";

/// A node has one result for each slot, and those of earlier processes.
const MAX_REPORTS: usize = 1024;
const MAX_BYTES: u64 = 64 << 20;
/// A result with all features has a few thousand bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
const MAX_UNREADABLE: usize = 100;

#[derive(Debug, thiserror::Error)]
#[error("{} cannot be used (VMAFX_OUTBOX_DIR)", path.display())]
pub struct OutboxError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

#[derive(Debug)]
pub struct Outbox(PathBuf);

/// The file of a result, locked by this process.
#[derive(Debug)]
pub(super) struct OutboxFile {
    path: PathBuf,
    _lock: File,
}

impl Outbox {
    /// Creates the directory. Blocks; called once, at the start.
    pub fn open(directory: &Path) -> Result<Self, OutboxError> {
        let created = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        created
            .and_then(|()| lock(directory).map(drop))
            .map_err(|source| OutboxError { path: directory.to_owned(), source })?;
        Ok(Self(directory.to_owned()))
    }

    /// Writes a result. Blocks until it is on the disk.
    pub(super) fn keep(&self, report: &StoredReport) -> io::Result<OutboxFile> {
        let name = report.file_name();
        let (path, temporary) =
            (self.0.join(format!("{name}{SUFFIX}")), self.0.join(format!("{name}{TEMPORARY_SUFFIX}")));
        let text = report.to_bytes()?;
        let mut file = {
            let _searching = lock(&self.0)?;
            let (reports, bytes) = self.used()?;
            if reports >= MAX_REPORTS || bytes + text.len() as u64 > MAX_BYTES {
                return Err(io::Error::new(
                    io::ErrorKind::QuotaExceeded,
                    format!("the outbox is full: {reports} results of {bytes} bytes"),
                ));
            }
            let file =
                File::options().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
            file.lock()?;
            file
        };
        let written = file
            .write_all(&text)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, &path))
            .and_then(|()| File::open(&self.0)?.sync_all());
        if let Err(error) = written {
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        Ok(OutboxFile { path, _lock: file })
    }

    /// The results of processes that have ended. Blocks.
    pub(super) fn orphans(&self) -> io::Result<Vec<(StoredReport, OutboxFile)>> {
        let _searching = lock(&self.0)?;
        let mut orphans = Vec::new();
        for name in self.names()? {
            let path = self.0.join(&name);
            let is_report = name.ends_with(SUFFIX);
            if !is_report && !name.ends_with(TEMPORARY_SUFFIX) {
                continue;
            }
            match adopt(&path) {
                Ok(None) => {}
                // Its process was killed before the result was complete.
                Ok(Some(_)) if !is_report => drop(fs::remove_file(&path)),
                Ok(Some((text, lock))) => match StoredReport::from_bytes(&text) {
                    Ok(report) => orphans.push((report, OutboxFile { path, _lock: lock })),
                    Err(error) => self.set_aside(&path, &error),
                },
                Err(error) => self.set_aside(&path, &error),
            }
        }
        Ok(orphans)
    }

    /// Renames a file that cannot be understood, so that a person or a newer program can read it.
    fn set_aside(&self, path: &Path, error: &(dyn std::error::Error + 'static)) {
        let names = self.names().unwrap_or_default();
        let unreadable = names.iter().filter(|name| name.ends_with(UNREADABLE_SUFFIX)).count();
        let mut aside = path.as_os_str().to_owned();
        aside.push(UNREADABLE_SUFFIX);
        let moved =
            if unreadable < MAX_UNREADABLE { fs::rename(path, &aside) } else { fs::remove_file(path) };
        tracing::warn!(path = %path.display(), error, ?moved, "a result in the outbox cannot be read; it was set aside");
    }

    /// Number and size of the results.
    fn used(&self) -> io::Result<(usize, u64)> {
        let names = self.names()?.into_iter().filter(|name| name.ends_with(SUFFIX));
        let sizes = names.filter_map(|name| Some(fs::metadata(self.0.join(name)).ok()?.len()));
        Ok(sizes.fold((0, 0), |(reports, bytes), size| (reports + 1, bytes + size)))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default())).collect()
    }
}

impl OutboxFile {
    /// Removes the file of a result that the controller has answered.
    pub(super) fn remove(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove a result from the outbox");
        }
    }
}

fn lock(directory: &Path) -> io::Result<File> {
    let path = directory.join(LOCK_FILE);
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Locks and reads a file; `None` if another process delivers it.
fn adopt(path: &Path) -> io::Result<Option<(Vec<u8>, File)>> {
    use std::io::Read as _;

    let file = File::open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Ok(None),
        Err(fs::TryLockError::Error(error)) => return Err(error),
    }
    let mut text = Vec::new();
    (&file).take(MAX_FILE_BYTES).read_to_end(&mut text)?;
    Ok(Some((text, file)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use vmafx_job::{Failure, FailureReason, ScoreDetails, ScoreResult};

    use super::*;

    fn report(job: &str) -> StoredReport {
        StoredReport {
            node_id: "session".to_owned(),
            session_token: "secret".to_owned(),
            job_id: job.to_owned(),
            tenant: "studio".to_owned(),
            attempt: 2,
            result: Ok(ScoreResult {
                score: 0.1 + 0.2,
                details: Some(ScoreDetails { frames: 48, ..ScoreDetails::default() }),
                ..ScoreResult::default()
            }),
        }
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names = Outbox(directory.to_owned()).names().unwrap();
        names.retain(|name| name != LOCK_FILE);
        names.sort();
        names
    }

    #[test]
    fn the_next_process_gets_the_results_of_the_last_one_and_no_result_of_a_live_one() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(&directory.path().join("outbox")).unwrap();
        let failed =
            StoredReport { result: Err(Failure::new(FailureReason::InputInvalid, "no clip")), ..report("b") };
        let kept = [outbox.keep(&report("a")).unwrap(), outbox.keep(&failed).unwrap()];
        assert_eq!(outbox.orphans().unwrap().len(), 0, "this process delivers them");
        drop(kept);
        let mut found = outbox.orphans().unwrap();
        found.sort_by(|(a, _), (b, _)| a.job_id.cmp(&b.job_id));
        let (reports, files): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        assert_eq!(reports, [report("a"), failed]);
        for file in files {
            assert_eq!(fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
            file.remove();
        }
        assert_eq!(names(&outbox.0), [""; 0]);
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_set_aside_and_blocks_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(directory.path()).unwrap();
        drop(outbox.keep(&report("good")).unwrap());
        let whole = fs::read(directory.path().join("good.2.json")).unwrap();
        fs::write(directory.path().join("cut.1.json"), &whole[..whole.len() / 2]).unwrap();
        let newer = String::from_utf8(whole).unwrap().replace("\"version\":1", "\"version\":2");
        fs::write(directory.path().join("newer.1.json"), newer).unwrap();
        fs::write(directory.path().join("half.1.tmp"), "{").unwrap();
        fs::create_dir(directory.path().join("directory.1.json")).unwrap();
        let found = outbox.orphans().unwrap();
        assert_eq!(found.iter().map(|(report, _)| report.job_id.as_str()).collect::<Vec<_>>(), ["good"]);
        let expected = [
            "cut.1.json.unreadable",
            "directory.1.json.unreadable",
            "good.2.json",
            "newer.1.json.unreadable",
        ];
        assert_eq!(names(directory.path()), expected);
    }

    #[test]
    fn a_full_outbox_takes_no_more_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(directory.path()).unwrap();
        for number in 0..MAX_REPORTS {
            fs::write(directory.path().join(format!("{number}.1.json")), "{}").unwrap();
        }
        assert_eq!(outbox.keep(&report("a")).unwrap_err().kind(), io::ErrorKind::QuotaExceeded);
        assert_eq!(names(directory.path()).len(), MAX_REPORTS);
    }

    #[test]
    fn the_name_of_a_file_cannot_leave_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(directory.path()).unwrap();
        let file = outbox.keep(&report("../../etc/x")).unwrap();
        assert_eq!(file.path.parent(), Some(directory.path()));
    }
}
