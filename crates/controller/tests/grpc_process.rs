//! The controller as a process: settings, ports, signals, exit codes.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the helpers of a test may fail it")]

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rstest::rstest;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinSet;
use tokio::time::timeout;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_proto::scoring::v1::vmafx_scoring_client::VmafxScoringClient;
use vmafx_proto::scoring::v1::{ScoreOptions, ScoreRequest};

const LONG: Duration = Duration::from_secs(30);

fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmafx-controller"));
    command
        .env_clear()
        .env("VMAFX_DB_PATH", directory.join("queue.db"))
        .env("VMAFX_HTTP_ADDR", "127.0.0.1:0")
        .env("VMAFX_GRPC_LISTEN", "127.0.0.1:0")
        .env("VMAFX_AUTH_DISABLED", "true")
        .env("VMAFX_SCORING_ROOTS", "/clips")
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

struct Controller {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
    http: String,
    grpc: String,
}

impl Controller {
    /// Starts one, and waits for its two addresses.
    async fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let (mut http, mut grpc) = (None, None);
        while http.is_none() || grpc.is_none() {
            let line = timeout(LONG, log.next_line()).await.unwrap().unwrap().expect("the log ended");
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            let addr = line["addr"].as_str().map(str::to_owned);
            match line["variable"].as_str() {
                Some("VMAFX_HTTP_ADDR") => http = addr,
                Some("VMAFX_GRPC_LISTEN") => grpc = addr,
                _ => {}
            }
        }
        Self { child, log, http: http.unwrap(), grpc: grpc.unwrap() }
    }

    fn terminate(&self) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Its end, and the rest of its log.
    async fn end(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        while let Some(line) = timeout(LONG, self.log.next_line()).await.unwrap().unwrap() {
            rest.push_str(&line);
            rest.push('\n');
        }
        (timeout(LONG, self.child.wait()).await.unwrap().unwrap(), rest)
    }
}

async fn page(addr: &str, path: &str) -> (u16, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(addr).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

async fn jobs(client: &mut VmafxControllerClient<tonic::transport::Channel>) -> Vec<wire::Job> {
    let mut stream = client.stream_jobs(wire::StreamJobsRequest::default()).await.unwrap().into_inner();
    let mut jobs = Vec::new();
    while let Some(job) = stream.message().await.unwrap() {
        jobs.push(job);
    }
    jobs
}

#[tokio::test]
async fn it_serves_both_protocols_and_stops_with_calls_under_way() {
    let directory = tempfile::tempdir().unwrap();
    let controller = Controller::start(&mut command(directory.path())).await;
    let ready = || async { page(&controller.http, "/readyz").await.0 == 200 };
    vmafx_testkit::wait::until(LONG, "readiness", ready).await.unwrap();
    assert_eq!(page(&controller.http, "/healthz").await.0, 200);
    let (status, metrics) = page(&controller.http, "/metrics").await;
    assert_eq!(status, 200);
    for name in ["vmafx_controller_nodes_live ", "vmafx_server_health_requests_total 1", "vmafx_build_info"] {
        assert!(metrics.contains(name), "{name} in {metrics}");
    }

    let mut client = VmafxControllerClient::connect(format!("http://{}", controller.grpc)).await.unwrap();
    let request = wire::RegisterNodeRequest { name: "node-0".into(), ..Default::default() };
    let node = client.register_node(request).await.unwrap().into_inner();
    let watch = wire::StreamJobsRequest { watch: true, ..Default::default() };
    let mut watch = client.stream_jobs(watch).await.unwrap().into_inner();
    watch.message().await.unwrap();
    let pull = wire::PullWorkRequest {
        node_id: node.node_id,
        session_token: node.session_token,
        capability: None,
        wait_ms: 30_000,
    };
    let mut pulls = JoinSet::new();
    let mut puller = client.clone();
    pulls.spawn(async move { puller.pull_work(pull).await });
    let scoring = wire::ScoringParams {
        reference: "/clips/r".into(),
        distorted: "/clips/d".into(),
        backend: "cuda".into(),
        ..Default::default()
    };
    let submit = wire::SubmitJobRequest { scoring: Some(scoring), ..Default::default() };
    let id = client.submit_job(submit).await.unwrap().into_inner().job_id;

    let mut waiting = JoinSet::new();
    let mut scorer = VmafxScoringClient::connect(format!("http://{}", controller.grpc)).await.unwrap();
    waiting.spawn(async move {
        let (reference, distorted) = ("/clips/r".to_owned(), "/clips/d".to_owned());
        let options = Some(ScoreOptions { backend: "cuda".into(), ..Default::default() });
        scorer.score(ScoreRequest { reference, distorted, options, ..Default::default() }).await
    });
    let two = || async { (jobs(&mut client.clone()).await.len() == 2).then_some(()) };
    vmafx_testkit::wait::until(LONG, "the job of the score", two).await.unwrap();

    controller.terminate();
    assert_eq!(waiting.join_next().await.unwrap().unwrap().unwrap_err().code(), tonic::Code::Unavailable);
    assert_eq!(pulls.join_next().await.unwrap().unwrap().unwrap().into_inner().job, None);
    let ended = loop {
        match watch.message().await {
            Ok(Some(_)) => {}
            other => break other,
        }
    };
    assert_eq!(ended.unwrap_err().code(), tonic::Code::Unavailable);
    drop((watch, client));
    let (status, log) = controller.end().await;
    assert_eq!(status.code(), Some(0), "{log}");

    // What was acknowledged is there after the restart.
    let controller = Controller::start(&mut command(directory.path())).await;
    let mut client = VmafxControllerClient::connect(format!("http://{}", controller.grpc)).await.unwrap();
    let left: Vec<_> = jobs(&mut client).await.iter().map(|job| (job.id == id, job.status())).collect();
    // And what nobody waits for any more was cancelled on the way out.
    assert_eq!(left, [(true, wire::JobStatus::Pending), (false, wire::JobStatus::Cancelled)]);
    controller.terminate();
    drop(client);
    assert_eq!(controller.end().await.0.code(), Some(0));
}

#[rstest]
#[case::version(&["--version"], &[], 0, "")]
#[case::migrate(&["migrate"], &[], 0, "the store's schema is up to date")]
#[case::flag(&["--no-such-flag"], &[], 2, "--no-such-flag")]
#[case::command(&["import"], &[], 2, "import")]
#[case::value(&[], &[("VMAFX_STORE_BACKEND", "mysql")], 2, "VMAFX_STORE_BACKEND")]
#[case::lease(&[], &[("VMAFX_STORE_LEASE_TTL", "1ms")], 2, "VMAFX_STORE_LEASE_TTL")]
#[case::no_dsn(&[], &[("VMAFX_STORE_BACKEND", "postgres")], 2, "VMAFX_DB_DSN")]
#[case::port(&[], &[("VMAFX_HTTP_ADDR", "256.0.0.1:1")], 1, "VMAFX_HTTP_ADDR")]
#[case::place(&[], &[("VMAFX_DB_PATH", "/proc/no/queue.db")], 1, "VMAFX_DB_PATH")]
#[tokio::test]
async fn exit_codes_tell_settings_from_failures(
    #[case] args: &[&str],
    #[case] env: &[(&str, &str)],
    #[case] code: i32,
    #[case] told: &str,
) {
    let directory = tempfile::tempdir().unwrap();
    let mut command = command(directory.path());
    command.args(args).envs(env.iter().copied());
    let output = timeout(LONG, command.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(told), "{told:?} in {said}");
}

#[tokio::test]
async fn two_controllers_do_not_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let first = Controller::start(&mut command(directory.path())).await;
    let output = timeout(LONG, command(directory.path()).output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("in use by process"), "{said}");
    first.terminate();
    assert_eq!(first.end().await.0.code(), Some(0));
}
