//! Which process is killed when.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use vmafx_testkit::postgres::ShutdownMode;
use vmafx_testkit::seed::Seed;
use vmafx_testkit::wait;

use crate::audit;
use crate::controller::{ALL, Controller};
use crate::fleet::{self, Ledger};

const SUBMITTERS: usize = 8;
const NODES: usize = 8;
/// Long enough for the whole test on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(4);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    /// One of the controllers, with SIGKILL.
    Controller,
    /// The Postgres server, which must then recover from its log.
    Database,
}

/// A number of jobs, and the kills while they run.
pub(crate) struct KillPlan {
    jobs: usize,
    victims: Vec<Victim>,
    seed: Seed,
}

impl KillPlan {
    pub(crate) fn new(jobs: usize, victims: &[Victim]) -> Self {
        Self { jobs, victims: victims.to_vec(), seed: Seed::from_environment() }
    }

    /// Runs all jobs and kills, and checks the invariants.
    pub(crate) async fn run(
        mut self,
        controllers: &mut [Controller],
        mut restart_database: impl AsyncFnMut(ShutdownMode),
    ) {
        let ledger = Arc::new(Ledger::default());
        let client = |number: usize| controllers[number % controllers.len()].client(ALL);
        let mut submitters = JoinSet::new();
        for one in 0..SUBMITTERS {
            let keys = (one..self.jobs).step_by(SUBMITTERS).map(|number| format!("job-{number}")).collect();
            submitters.spawn(fleet::submit(client(one), ledger.clone(), keys));
        }
        let mut nodes = JoinSet::new();
        for one in 0..NODES {
            let seed = self.seed.fork();
            nodes.spawn(fleet::work(client(one), ledger.clone(), format!("node-{one}"), seed));
        }

        for (point, victim) in self.points() {
            let reached = || std::future::ready(ledger.progress() >= point);
            wait::until(TIMEOUT, "progress", reached).await.unwrap();
            match victim {
                Victim::Controller => {
                    let controller = self.seed.below(controllers.len());
                    controllers[controller].kill().unwrap();
                    controllers[controller].restart().await.unwrap();
                }
                Victim::Database => restart_database(ShutdownMode::Immediate).await,
            }
        }
        submitters.join_all().await;
        let http = controllers[0].http_with(ALL);
        let all_finished = || async {
            let open = http.get("/v1/jobs?status=pending,running&pageSize=1").await.expect(200);
            let none = open["jobs"].as_array().unwrap().is_empty();
            if none { Ok(()) } else { Err(format!("{} reports; {open}", ledger.reports())) }
        };
        wait::until(TIMEOUT, "the end of every job", all_finished).await.unwrap();
        ledger.close();
        nodes.join_all().await;
        audit::audit(&http, &ledger, self.jobs).await;
    }

    /// The number of acknowledgements at which each victim is killed, in order.
    fn points(&mut self) -> Vec<(usize, Victim)> {
        // A job has two acknowledgements. None during the last tenth of them, so that every kill interrupts work.
        let last = self.jobs * 2 * 9 / 10;
        let mut points: Vec<usize> = self.victims.iter().map(|_| self.seed.below(last)).collect();
        points.sort_unstable();
        points.into_iter().zip(self.victims.clone()).collect()
    }
}
