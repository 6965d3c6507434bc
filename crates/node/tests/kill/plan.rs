//! Which process is killed when.

use std::time::Duration;

use vmafx_proto::controller::v1::{
    Job, JobStatus, ListJobsRequest, PlaneLayout, RawVideo, ScoringParams, SubmitJobRequest,
};
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::seed::Seed;
use vmafx_testkit::wait;

use crate::audit;
use crate::controller::{self, Client};
use crate::expected::expected;
use crate::fleet::Fleet;

/// Long enough for the whole test on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(4);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    Worker,
    Agent,
    Controller,
}

/// A number of jobs, and the kills while they run.
pub(crate) struct KillPlan {
    jobs: usize,
    victims: Vec<Victim>,
    seed: Seed,
}

impl KillPlan {
    pub(crate) fn new(jobs: usize, victims: &[(Victim, usize)]) -> Self {
        let mut seed = Seed::from_environment();
        let mut victims: Vec<Victim> =
            victims.iter().flat_map(|(victim, times)| std::iter::repeat_n(*victim, *times)).collect();
        seed.shuffle(&mut victims);
        Self { jobs, victims, seed }
    }

    /// Runs all jobs and kills, and checks the invariants.
    pub(crate) async fn run(mut self) {
        let directory = tempfile::tempdir().unwrap();
        let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../scoring/tests/data");
        let data = data.canonicalize().unwrap();
        let (reference, distorted) = (data.join("ref_160x90.yuv"), data.join("dis_160x90.yuv"));
        let score = expected(&reference, &distorted);
        let files = [&reference, &distorted].map(|path| std::fs::read(path).unwrap());
        let server = HttpServer::start(move |request| match request.path.as_str() {
            "/ref.yuv" => Reply::file(files[0].clone()).etag("\"1\""),
            "/dis.yuv" => Reply::file(files[1].clone()).etag("\"1\""),
            _ => Reply::status(404),
        });
        let roots = [data.display().to_string(), server.url("/")];
        let mut controller = controller::start(&roots).await;
        let client = Client::new(controller.channel(None));
        for number in 0..self.jobs {
            // Every third job downloads its clips, so that a leak in the scratch directory would show.
            let addresses = match number % 3 {
                0 => [server.url("/ref.yuv"), server.url("/dis.yuv")],
                _ => [&reference, &distorted].map(|path| path.display().to_string()),
            };
            submit(&client, addresses).await;
        }

        let mut fleet = Fleet::start(directory.path(), controller.grpc());
        let mut wait_for_failed_call = false;
        for (point, victim) in self.points() {
            let reached = || async { finished(&client).await.is_ok_and(|finished| finished.len() >= point) };
            wait::until(TIMEOUT, "progress", reached).await.unwrap();
            match victim {
                Victim::Worker => fleet.kill_a_worker(&mut self.seed).await,
                Victim::Agent => fleet.kill_an_agent(&mut self.seed).await,
                Victim::Controller => {
                    fleet.until_busy(|_| true).await;
                    let before = fleet.failed_calls();
                    controller.kill().unwrap();
                    // Every other time the controller is away until a call has failed; otherwise it restarts at once.
                    wait_for_failed_call = !wait_for_failed_call;
                    if wait_for_failed_call {
                        let failed = || std::future::ready(fleet.failed_calls() > before);
                        wait::until(TIMEOUT, "a failed call", failed).await.unwrap();
                    }
                    controller.restart().await.unwrap();
                }
            }
        }
        let all_finished = || async {
            let finished = finished(&client).await.map_err(|error| error.to_string())?;
            if finished.len() == self.jobs {
                Ok(finished)
            } else {
                Err(format!("{} are finished", finished.len()))
            }
        };
        let jobs = wait::until(TIMEOUT, "the end of every job", all_finished).await.unwrap();
        audit::jobs(&jobs, &controller, score).await;
        audit::nothing_left(&client, &mut fleet).await;
        audit::kills(&jobs, &fleet, &server);
    }

    /// The number of finished jobs at which each victim is killed, in order.
    fn points(&mut self) -> Vec<(usize, Victim)> {
        // None during the last tenth of the jobs, so that every kill interrupts work.
        let last = self.jobs * 9 / 10;
        let mut points: Vec<usize> = self.victims.iter().map(|_| self.seed.below(last)).collect();
        points.sort_unstable();
        points.into_iter().zip(self.victims.clone()).collect()
    }
}

async fn submit(client: &Client, [reference, distorted]: [String; 2]) {
    let scoring = ScoringParams {
        reference,
        distorted,
        model: "vmaf_v0.6.1".into(),
        input: Some(RawVideo {
            width: 160,
            height: 90,
            pixel_format: PlaneLayout::Yuv420p.into(),
            bit_depth: 8,
        }),
        ..ScoringParams::default()
    };
    let request = SubmitJobRequest { scoring: Some(scoring), ..SubmitJobRequest::default() };
    client.clone().submit_job(request).await.unwrap();
}

/// The jobs in a final state.
async fn finished(client: &Client) -> Result<Vec<Job>, tonic::Status> {
    let states = [JobStatus::Completed, JobStatus::Failed, JobStatus::Cancelled];
    let request = ListJobsRequest {
        status_filter: states.map(i32::from).to_vec(),
        page_size: 1000,
        ..ListJobsRequest::default()
    };
    Ok(client.clone().list_jobs(request).await?.into_inner().jobs)
}
