//! Agents as processes that share a scratch directory, and their workers.

use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::seed::Seed;
use vmafx_testkit::wait;

use crate::processes::{JobProcess, directory_of, processes_below};

const TIMEOUT: Duration = Duration::from_mins(1);

const AGENTS: usize = 2;

pub(crate) struct Fleet {
    scratch: PathBuf,
    log: PathBuf,
    agents: Vec<(ChildCommand, ChildProcess)>,
    /// Jobs whose worker was killed, by agent and directory. A job gets a second worker only, so it must not lose two.
    hit_jobs: HashSet<(Pid, PathBuf)>,
}

impl Fleet {
    pub(crate) fn start(directory: &Path, controller: SocketAddr) -> Self {
        let (scratch, log) = (directory.join("scratch"), directory.join("nodes.log"));
        let start = |number: usize| {
            let launch = ChildCommand::new("a node", env!("CARGO_BIN_EXE_vmafx-node"), &log)
                .env("VMAFX_CONTROLLER_ADDR", controller.to_string())
                .env("VMAFX_NODE_ID", format!("node-{number}"))
                .env("VMAFX_NODE_SLOTS", "2")
                .env("VMAFX_SCRATCH_DIR", &scratch)
                .env("VMAFX_HTTP_ADDR", "0")
                .env("VMAFX_LOG_LEVEL", "warn");
            let process = ChildProcess::start(&launch).unwrap();
            (launch, process)
        };
        let agents = (0..AGENTS).map(start).collect();
        Self { scratch, log, agents, hit_jobs: HashSet::new() }
    }

    pub(crate) async fn kill_a_worker(&mut self, seed: &mut Seed) {
        wait::until(TIMEOUT, "a worker to kill", || {
            let mut workers = self.processes();
            seed.shuffle(&mut workers);
            let hit = workers.iter().find_map(|worker| {
                let job = (parent_of(worker.id)?, worker.directory.clone());
                (!self.hit_jobs.contains(&job) && kill(worker)).then_some(job)
            });
            let found = hit.is_some();
            self.hit_jobs.extend(hit);
            std::future::ready(found)
        })
        .await
        .unwrap();
    }

    /// Kills an agent that has a worker, and restarts it.
    pub(crate) async fn kill_an_agent(&mut self, seed: &mut Seed) {
        let victim = seed.below(AGENTS);
        self.until_busy(|worker| parent_of(worker) == id_of(&self.agents[victim].1)).await;
        let (launch, process) = &mut self.agents[victim];
        process.kill().unwrap();
        *process = ChildProcess::start(launch).unwrap();
    }

    /// Waits for a worker.
    pub(crate) async fn until_busy(&self, is: impl Fn(Pid) -> bool) {
        let busy = || std::future::ready(self.processes().iter().any(|process| is(process.id)));
        wait::until(TIMEOUT, "a worker", busy).await.unwrap();
    }

    /// Sends SIGTERM to all agents, and waits until they exit.
    pub(crate) fn shut_down(&mut self) {
        for (_, agent) in &mut self.agents {
            agent.signal(Signal::TERM).unwrap();
        }
        for (_, agent) in &mut self.agents {
            assert_eq!(agent.wait().unwrap().code(), Some(0));
        }
    }

    pub(crate) const fn agents(&self) -> usize {
        self.agents.len()
    }

    /// The processes of all jobs.
    pub(crate) fn processes(&self) -> Vec<JobProcess> {
        processes_below(&self.scratch)
    }

    /// Private directories of agents.
    pub(crate) fn agent_directories(&self) -> Vec<PathBuf> {
        let of_agent = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("agent-");
        entries(&self.scratch).into_iter().filter(of_agent).collect()
    }

    /// Downloads and directories of jobs.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let parts = self
            .agent_directories()
            .into_iter()
            .flat_map(|own| ["objects", "jobs"].map(|part| own.join(part)));
        parts.flat_map(|part| entries(&part)).collect()
    }

    /// Workers that were replaced by another one, by the log.
    pub(crate) fn replaced(&self) -> usize {
        self.logged("the worker crashed; starting another one")
    }

    /// Failed calls to the controller, by the log.
    pub(crate) fn failed_calls(&self) -> usize {
        self.logged("cannot pull") + self.logged("a heartbeat failed")
    }

    fn logged(&self, message: &str) -> usize {
        fs::read_to_string(&self.log).unwrap().matches(message).count()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the end of the nodes' log:\n{}", self.agents[0].1.log_tail());
        }
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn id_of(process: &ChildProcess) -> Option<Pid> {
    Pid::from_raw(i32::try_from(process.pid()).unwrap())
}

fn parent_of(process: Pid) -> Option<Pid> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).ok()?;
    Pid::from_raw(status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?)
}

/// Whether the worker was still there. The pidfd is opened before the check, because the id may belong to another process by
/// now.
fn kill(worker: &JobProcess) -> bool {
    let Ok(pidfd) = pidfd_open(worker.id, PidfdFlags::empty()) else { return false };
    directory_of(worker.id).as_ref() == Some(&worker.directory)
        && pidfd_send_signal(pidfd, Signal::KILL).is_ok()
}
