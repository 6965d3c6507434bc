//! Who is killed when.

use std::time::Duration;

use vmafx_proto::controller::v1::{
    Job, JobStatus, ListJobsRequest, PlaneLayout, RawVideo, ScoringParams, SubmitJobRequest,
};
use vmafx_testkit::http_server::{HttpServer, Reply};
use vmafx_testkit::wait;

use crate::audit;
use crate::controller::{Client, Controller};
use crate::expected::expected;
use crate::fleet::Fleet;
use crate::seed::Seed;

/// For everything, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(4);

/// Who is struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    /// One of the workers.
    Worker,
    /// One of the agents.
    Agent,
    /// The controller.
    Controller,
}

/// So many jobs, and what happens to those who do them.
pub(crate) struct Story {
    jobs: usize,
    strikes: Vec<Strike>,
    seed: Seed,
}

impl Story {
    pub(crate) fn new(jobs: usize, strikes: &[(Strike, usize)]) -> Self {
        let mut seed = Seed::chosen();
        let mut strikes: Vec<Strike> =
            strikes.iter().flat_map(|(strike, times)| std::iter::repeat_n(*strike, *times)).collect();
        seed.shuffle(&mut strikes);
        Self { jobs, strikes, seed }
    }

    /// Plays it to its end and looks at what is left.
    pub(crate) async fn play(mut self) {
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
        let mut controller = Controller::start(directory.path(), &roots).await;
        let client = controller.client();
        for number in 0..self.jobs {
            // Every third one is fetched, so that there is something to be left in the scratch directory.
            let addresses = match number % 3 {
                0 => [server.url("/ref.yuv"), server.url("/dis.yuv")],
                _ => [&reference, &distorted].map(|path| path.display().to_string()),
            };
            submit(&client, addresses).await;
        }

        let mut fleet = Fleet::start(directory.path(), controller.address());
        let mut missed = false;
        for (point, strike) in self.points() {
            let reached = || async { over(&client).await.is_ok_and(|over| over.len() >= point) };
            wait::until(PATIENCE, "progress", reached).await.unwrap();
            match strike {
                Strike::Worker => fleet.strike_a_worker(&mut self.seed).await,
                Strike::Agent => fleet.strike_an_agent(&mut self.seed).await,
                Strike::Controller => {
                    fleet.until_busy(|_| true).await;
                    let before = fleet.unheard();
                    controller.kill();
                    // One time it is away long enough to be missed, the next it is back as soon as it can.
                    missed = !missed;
                    if missed {
                        let heard_of = || std::future::ready(fleet.unheard() > before);
                        wait::until(PATIENCE, "a call that nobody answers", heard_of).await.unwrap();
                    }
                    controller.begin_again().await;
                }
            }
        }
        let all_over = || async {
            let over = over(&client).await.map_err(|error| error.to_string())?;
            if over.len() == self.jobs { Ok(over) } else { Err(format!("{} are over", over.len())) }
        };
        let jobs = wait::until(PATIENCE, "the end of every job", all_over).await.unwrap();
        audit::jobs(&jobs, &controller, score).await;
        audit::left(&client, &mut fleet).await;
        audit::strikes(&jobs, &fleet, &server);
    }

    /// Jobs that are over when somebody is struck, in order.
    fn points(&mut self) -> Vec<(usize, Strike)> {
        // The last tenth is left in peace, so that every strike meets work.
        let last = self.jobs * 9 / 10;
        let mut points: Vec<usize> = self.strikes.iter().map(|_| self.seed.below(last)).collect();
        points.sort_unstable();
        points.into_iter().zip(self.strikes.clone()).collect()
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
    let asked = SubmitJobRequest { scoring: Some(scoring), ..SubmitJobRequest::default() };
    client.clone().submit_job(asked).await.unwrap();
}

/// The jobs that are over, however they ended.
async fn over(client: &Client) -> Result<Vec<Job>, tonic::Status> {
    let ends = [JobStatus::Completed, JobStatus::Failed, JobStatus::Cancelled];
    let asked = ListJobsRequest {
        status_filter: ends.map(i32::from).to_vec(),
        page_size: 1000,
        ..ListJobsRequest::default()
    };
    Ok(client.clone().list_jobs(asked).await?.into_inner().jobs)
}
