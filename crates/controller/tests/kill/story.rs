//! Who is killed when.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use vmafx_testkit::postgres::ShutdownMode;
use vmafx_testkit::wait;

use crate::audit;
use crate::controller::Controller;
use crate::fleet::{self, Ledger};
use crate::seed::Seed;

const SUBMITTERS: usize = 8;
const NODES: usize = 8;
/// For everything, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(4);

/// What is struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    /// One of the controllers, with SIGKILL.
    Controller,
    /// The database, so that it must recover.
    Database,
}

/// So many jobs, and what happens to those who keep them.
pub(crate) struct Story {
    jobs: usize,
    strikes: Vec<Strike>,
    seed: Seed,
}

impl Story {
    pub(crate) fn new(jobs: usize, strikes: &[Strike]) -> Self {
        Self { jobs, strikes: strikes.to_vec(), seed: Seed::chosen() }
    }

    /// Plays it to its end and looks at what is left.
    pub(crate) async fn play(
        mut self,
        controllers: &mut [Controller],
        mut restart_database: impl AsyncFnMut(ShutdownMode),
    ) {
        let ledger = Arc::new(Ledger::default());
        let addr = |number: usize| controllers[number % controllers.len()].grpc;
        let mut submitters = JoinSet::new();
        for one in 0..SUBMITTERS {
            let keys = (one..self.jobs).step_by(SUBMITTERS).map(|number| format!("job-{number}")).collect();
            submitters.spawn(fleet::submit(addr(one), ledger.clone(), keys));
        }
        let mut nodes = JoinSet::new();
        for one in 0..NODES {
            let seed = self.seed.fork();
            nodes.spawn(fleet::work(addr(one), ledger.clone(), format!("node-{one}"), seed));
        }

        for (point, strike) in self.points() {
            let reached = || std::future::ready(ledger.progress() >= point);
            wait::until(PATIENCE, "progress", reached).await.unwrap();
            match strike {
                Strike::Controller => {
                    let victim = self.seed.below(controllers.len());
                    controllers[victim].kill();
                    controllers[victim].begin_again().await;
                }
                Strike::Database => restart_database(ShutdownMode::Immediate).await,
            }
        }
        submitters.join_all().await;
        let http = controllers[0].http_with(crate::controller::ALL);
        let all_over = || async {
            let left = http.get("/v1/jobs?status=pending,running&pageSize=1").await.expect(200);
            let none = left["jobs"].as_array().unwrap().is_empty();
            if none { Ok(()) } else { Err(format!("{} reports; {left}", ledger.reports())) }
        };
        wait::until(PATIENCE, "the end of every job", all_over).await.unwrap();
        ledger.close();
        nodes.join_all().await;
        audit::audit(&http, &ledger, self.jobs).await;
    }

    /// Acknowledgements after which something is struck, in order.
    fn points(&mut self) -> Vec<(usize, Strike)> {
        // Two for each job; the last tenth is left in peace, so that every strike meets work.
        let last = self.jobs * 2 * 9 / 10;
        let mut points: Vec<usize> = self.strikes.iter().map(|_| self.seed.below(last)).collect();
        points.sort_unstable();
        points.into_iter().zip(self.strikes.clone()).collect()
    }
}
