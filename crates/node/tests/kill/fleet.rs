//! Agents as processes, which share a scratch directory, and their workers.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use vmafx_testkit::kube::process::{ChildCommand, ChildProcess};
use vmafx_testkit::wait;

use crate::processes::{JobProcess, directory_of, processes_below};
use crate::seed::Seed;

const PATIENCE: Duration = Duration::from_mins(1);

const AGENTS: usize = 2;

pub(crate) struct Fleet {
    scratch: PathBuf,
    log: PathBuf,
    agents: Vec<(ChildCommand, ChildProcess)>,
    /// Jobs that have lost a worker, by agent and directory: a job gets one more, so it must not lose two.
    struck: HashSet<(Pid, PathBuf)>,
}

impl Fleet {
    pub(crate) fn start(directory: &Path, controller: &str) -> Self {
        let (scratch, log) = (directory.join("scratch"), directory.join("nodes.log"));
        let start = |number: usize| {
            let launch = ChildCommand::new("a node", env!("CARGO_BIN_EXE_vmafx-node"), &log)
                .env("VMAFX_CONTROLLER_ADDR", controller)
                .env("VMAFX_NODE_ID", format!("node-{number}"))
                .env("VMAFX_NODE_SLOTS", "2")
                .env("VMAFX_SCRATCH_DIR", &scratch)
                .env("VMAFX_HTTP_ADDR", "0")
                .env("VMAFX_LOG_LEVEL", "warn");
            let process = ChildProcess::start(&launch).unwrap();
            (launch, process)
        };
        let agents = (0..AGENTS).map(start).collect();
        Self { scratch, log, agents, struck: HashSet::new() }
    }

    /// Kills a worker.
    pub(crate) async fn strike_a_worker(&mut self, seed: &mut Seed) {
        wait::until(PATIENCE, "a worker to kill", || {
            let mut workers = self.processes();
            seed.shuffle(&mut workers);
            let struck = workers.iter().find_map(|worker| {
                let job = (parent_of(worker.id)?, worker.directory.clone());
                (!self.struck.contains(&job) && kill(worker)).then_some(job)
            });
            let met = struck.is_some();
            self.struck.extend(struck);
            std::future::ready(met)
        })
        .await
        .unwrap();
    }

    /// Kills an agent that has a worker, and starts it again.
    pub(crate) async fn strike_an_agent(&mut self, seed: &mut Seed) {
        let victim = seed.below(AGENTS);
        self.until_busy(|worker| parent_of(worker) == id_of(&self.agents[victim].1)).await;
        let (launch, process) = &mut self.agents[victim];
        process.kill().unwrap();
        *process = ChildProcess::start(launch).unwrap();
    }

    /// Waits for a worker.
    pub(crate) async fn until_busy(&self, is: impl Fn(Pid) -> bool) {
        let busy = || std::future::ready(self.processes().iter().any(|process| is(process.id)));
        wait::until(PATIENCE, "a worker", busy).await.unwrap();
    }

    /// Tells all agents to leave, and waits until they have.
    pub(crate) fn leave(&mut self) {
        for (_, agent) in &mut self.agents {
            agent.signal(Signal::TERM).unwrap();
        }
        for (_, agent) in &mut self.agents {
            assert_eq!(agent.wait().unwrap().code(), Some(0));
        }
    }

    /// How many agents there are.
    pub(crate) const fn agents(&self) -> usize {
        self.agents.len()
    }

    /// Everything that works for a job.
    pub(crate) fn processes(&self) -> Vec<JobProcess> {
        processes_below(&self.scratch)
    }

    /// What agents have as their own.
    pub(crate) fn homes(&self) -> Vec<PathBuf> {
        let of_agent = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("agent-");
        entries(&self.scratch).into_iter().filter(of_agent).collect()
    }

    /// Downloads, and directories of jobs.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let parts = self.homes().into_iter().flat_map(|home| ["objects", "jobs"].map(|part| home.join(part)));
        parts.flat_map(|part| entries(&part)).collect()
    }

    /// Workers in whose place another one was started.
    pub(crate) fn replaced(&self) -> usize {
        self.said("the worker died; the job gets another one")
    }

    /// Calls that nobody answered, as far as agents speak of them.
    pub(crate) fn unheard(&self) -> usize {
        self.said("cannot pull") + self.said("a heartbeat was not heard")
    }

    fn said(&self, words: &str) -> usize {
        fs::read_to_string(&self.log).unwrap().matches(words).count()
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

/// Whether it was there to be killed. The number is held first and looked at again then: it may be another's by now.
fn kill(worker: &JobProcess) -> bool {
    let Ok(held) = pidfd_open(worker.id, PidfdFlags::empty()) else { return false };
    directory_of(worker.id).as_ref() == Some(&worker.directory)
        && pidfd_send_signal(held, Signal::KILL).is_ok()
}
