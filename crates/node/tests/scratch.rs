//! The scratch directory, with processes that are killed.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the helpers of a test may fail it")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use vmafx_kit::config::GoDuration;
use vmafx_node::scratch::{ByteSize, Scratch, ScratchSettings};

/// Set in the processes of [`OtherAgent`].
const ROLE: &str = "SCRATCH_TEST_DIRECTORY";

fn open(directory: &Path) -> Scratch {
    Scratch::open(&ScratchSettings {
        scratch_dir: Some(directory.to_owned()),
        scratch_bytes: ByteSize(1 << 30),
        scratch_wait: GoDuration(Duration::from_secs(1)),
    })
    .unwrap()
}

/// Private directories of agents.
fn agent_directories(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.is_dir() && path.file_name().unwrap().to_str().unwrap().starts_with("agent-"))
        .collect()
}

/// An agent in a process of its own.
struct OtherAgent {
    child: Child,
    job: PathBuf,
}

impl OtherAgent {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "runs_as_another_agent", "--ignored", "--nocapture"])
            .env(ROLE, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let job = lines
            .map(Result::unwrap)
            .find_map(|line| line.split_once("job at ").map(|(_, path)| path.into()));
        Self { child, job: job.expect("the agent prints the directory of its job") }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
#[ignore = "other tests start this as a process and kill it"]
fn runs_as_another_agent() {
    let Some(directory) = std::env::var_os(ROLE) else { return };
    let scratch = open(Path::new(&directory));
    let job = scratch.job_directory().unwrap();
    std::fs::write(job.path().join("half a download"), "x").unwrap();
    println!("\njob at {}", job.path().display());
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn directories_of_jobs_are_private_and_removed_with_their_job() {
    let directory = tempfile::tempdir().unwrap();
    let scratch = open(directory.path());
    let job = scratch.job_directory().unwrap();
    let path = job.path().to_owned();
    for private in [scratch.path(), &path] {
        assert_eq!(
            std::fs::metadata(private).unwrap().permissions().mode() & 0o777,
            0o700,
            "{}",
            private.display()
        );
    }
    let other = scratch.job_directory().unwrap();
    assert_ne!(other.path(), path);
    std::fs::create_dir_all(path.join("a/b")).unwrap();
    std::fs::write(path.join("a/b/c"), "x").unwrap();
    drop(job);
    assert!(!path.exists() && other.path().exists());
    drop((scratch, other));
    assert_eq!(agent_directories(directory.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_directory_without_permissions_is_removed_too() {
    let directory = tempfile::tempdir().unwrap();
    let scratch = open(directory.path());
    let job = scratch.job_directory().unwrap();
    let path = job.path().to_owned();
    std::fs::create_dir_all(path.join("denied/inner")).unwrap();
    for denied in ["denied/inner", "denied"] {
        std::fs::set_permissions(path.join(denied), std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    drop(job);
    assert!(!path.exists());
}

#[test]
fn the_directory_of_a_killed_process_is_removed_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let agent = OtherAgent::start(directory.path());
    let job = agent.job.clone();
    assert!(job.join("half a download").exists());
    agent.kill();
    assert!(job.exists(), "a killed process removes nothing");
    let _scratch = open(directory.path());
    assert!(!job.exists() || std::fs::read_dir(&job).unwrap().count() == 0);
    assert_eq!(agent_directories(directory.path()).len(), 1);
}

#[test]
fn agents_that_share_a_directory_do_not_remove_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let first = OtherAgent::start(directory.path());
    let second = open(directory.path());
    let third = OtherAgent::start(directory.path());
    assert!(first.job.join("half a download").exists());
    assert!(second.path().exists());
    assert!(third.job.join("half a download").exists());
    assert_eq!(agent_directories(directory.path()).len(), 3);
    let left = first.job.clone();
    first.kill();
    let fourth = open(directory.path());
    assert!(!left.join("half a download").exists());
    assert!(second.path().exists() && third.job.exists() && fourth.path().exists());
    third.kill();
}

#[test]
fn agents_that_start_at_once_do_not_remove_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let agents: Vec<_> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| OtherAgent::start(directory.path()))).collect();
        starting.into_iter().map(|agent| agent.join().unwrap()).collect()
    });
    for agent in &agents {
        assert!(agent.job.join("half a download").exists());
    }
    let directories: std::collections::BTreeSet<_> = agents.iter().map(|agent| &agent.job).collect();
    assert_eq!(directories.len(), agents.len(), "two agents share a directory: {directories:?}");
    agents.into_iter().for_each(OtherAgent::kill);
    drop(open(directory.path()));
    assert_eq!(agent_directories(directory.path()), Vec::<PathBuf>::new());
}

#[test]
fn other_files_are_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("agents")).unwrap();
    std::fs::write(directory.path().join("agent-file"), "x").unwrap();
    std::os::unix::fs::symlink("/etc", directory.path().join("agent-link")).unwrap();
    drop(open(directory.path()));
    for kept in ["agents", "agent-file", "agent-link"] {
        assert!(directory.path().join(kept).symlink_metadata().is_ok(), "{kept}");
    }
}
