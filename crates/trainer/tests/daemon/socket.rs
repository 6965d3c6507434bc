//! The socket of the real daemon.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

use crate::clips::Studio;
use crate::shelf::Shelf;
use crate::trainer::{Plan, Trainer};

struct Client {
    to: UnixStream,
    from: BufReader<UnixStream>,
}

impl Client {
    fn connect(path: &Path) -> Self {
        let to = UnixStream::connect(path).unwrap();
        let from = BufReader::new(to.try_clone().unwrap());
        Self { to, from }
    }

    fn say(&mut self, line: &str) -> Value {
        self.to.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }
}

async fn started(registry: &RegistryServer) -> (Trainer, PathBuf, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.sock");
    let trainer =
        Plan::new("m", registry.address()).set("VMAFX_SIDECAR_SOCKET", path.to_str().unwrap()).start();
    trainer.until("a beginning", |status| status["phase"] == "running").await;
    (trainer, path, directory)
}

fn line(job: &str, row: &[f64], label: f64) -> String {
    json!({"job_id": job, "features": row, "true_score": label}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_are_taken_from_several_clients_and_are_in_the_next_checkpoint() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let (trainer, path, _directory) = started(&registry).await;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut studio = Studio::new(20);
    let mut clients = [Client::connect(&path), Client::connect(&path)];
    let (mut taught, mut put_aside) = (0, 0);
    for number in 0..40_u64 {
        let row = studio.row();
        let label = studio.label(&row);
        let job = format!("job-{number}");
        let answer = clients[usize::try_from(number % 2).unwrap()].say(&line(&job, &row, label));
        assert_eq!((answer["ok"].as_bool(), answer["job_id"].as_str()), (Some(true), Some(job.as_str())));
        assert_eq!(answer["step"], number + 1);
        assert_eq!(answer["trained"].as_bool(), Some(answer["loss"].is_number()));
        *(if answer["trained"] == true { &mut taught } else { &mut put_aside }) += 1;
    }
    assert!(taught > 20 && put_aside > 0, "{taught} {put_aside}");
    trainer.until("a checkpoint", |status| status["samples_pending"] == 0).await;
    trainer.leave().await;
    assert!(!path.exists());
    let shelf = Shelf::of(&registry);
    let last = *shelf.numbers("m").await.last().unwrap();
    assert_eq!(shelf.get(&format!("m-v{last:06}")).await.unwrap().facts.samples, 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_answered_and_changes_nothing() {
    let registry = RegistryServer::start(RegistryAuth::Open).await.unwrap();
    let (trainer, path, _directory) = started(&registry).await;
    let mut client = Client::connect(&path);
    let mut studio = Studio::new(21);
    let row = studio.row();
    let mut short = row.clone();
    short.pop();
    let mut huge = row.clone();
    huge[0] = 1e308;
    let bad = [
        ("hello".to_owned(), "no JSON object"),
        (line("j", &short, 50.0), "5 features, and the model uses 6"),
        (line("j", &huge, 50.0), "1e6"),
        (line("j", &row, 100.5), "must be from 0 to 100"),
        (line("j", &row, -1.0), "must be from 0 to 100"),
        (r#"{"job_id":"j","features":[NaN,1,1,1,1,1],"true_score":1}"#.to_owned(), "no JSON object"),
        ("x".repeat(100_000), "longer than 65536 bytes"),
        (String::new(), "no JSON object"),
    ];
    for (line, why) in &bad {
        let answer = client.say(line);
        assert_eq!(answer["ok"], false, "{answer}");
        assert_eq!(answer.get("retryable"), None, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(why), "{answer}");
    }
    let answer = client.say(&line("good", &row, 50.0));
    assert_eq!((answer["ok"].as_bool(), answer["step"].as_u64()), (Some(true), Some(1)));
    let refused = "vmafx_trainer_samples_refused_total";
    for (reason, count) in [("feature_count", 1.0), ("implausible", 1.0), ("label", 2.0)] {
        assert_eq!(
            trainer.metric(&format!("{refused}{{reason=\"{reason}\"}}")).await,
            Some(count),
            "{reason}"
        );
    }
}
