//! A job has bit-identical scores to `vmafx score`, wherever the clips are stored.

use std::fs;

use serde_json::Value;
use vmafx_testkit::rclone::RcloneServer;
use vmafx_testkit::s3::S3Server;

use crate::fixture::{Fixture, data};

/// The golden pairs: both clips, and the options that describe them.
const PAIRS: [([&str; 2], [&str; 4]); 2] = [
    (["ref_160x90.yuv", "dis_160x90.yuv"], ["--size", "160x90", "--pixel-format", "yuv420p"]),
    (
        ["src01_hrc00_576x324.yuv420p10le.yuv", "src01_hrc01_576x324.yuv420p10le.yuv"],
        ["--size", "576x324", "--pixel-format", "yuv420p10le"],
    ),
];

/// The bits of the score and of the mean of a feature, from `vmafx score`.
fn score_locally(fixture: &Fixture, pair: [&str; 2], raw: [&str; 4]) -> (u64, u64) {
    let arguments: Vec<&str> =
        ["score", pair[0], pair[1], "--model", "vmaf_v0.6.1", "-o", "json"].into_iter().chain(raw).collect();
    let report: Value = serde_json::from_str(&fixture.run(&arguments).ok()).unwrap();
    let mean = |name: &str| report["pooled_metrics"][name]["mean"].as_f64().unwrap().to_bits();
    (mean("vmaf"), mean("integer_adm2"))
}

/// The same values, from a job.
fn score_by_job(fixture: &Fixture, pair: &[String; 2], raw: [&str; 4]) -> (u64, u64) {
    let arguments: Vec<&str> =
        ["submit", &pair[0], &pair[1], "--model", "vmaf_v0.6.1", "--wait", "-o", "json"]
            .into_iter()
            .chain(raw)
            .collect();
    let document: Value = serde_json::from_str(&fixture.run(&arguments).ok()).unwrap();
    let job = &document["jobs"][0];
    let adm2 = job["features"]["integer_adm2"].as_f64().unwrap();
    (job["score"].as_f64().unwrap().to_bits(), adm2.to_bits())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_golden_pairs_have_the_same_score_by_path_by_http_and_from_s3() {
    let fixture = Fixture::new();
    let (s3, http) = (S3Server::start().await.unwrap(), RcloneServer::start("http", &[]).await.unwrap());
    for name in PAIRS.iter().flat_map(|(pair, _)| pair) {
        let clip = fs::read(data(name)).unwrap();
        fs::write(fixture.path(name), &clip).unwrap();
        fs::write(http.files().join(name), &clip).unwrap();
        s3.put("clips", name, &clip).unwrap();
    }
    let roots =
        [fixture.path("").display().to_string(), "s3://clips/".to_owned(), format!("{}/", http.url())];
    let roots: Vec<String> = roots.iter().map(|root| format!("--root={root}")).collect();
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    let _up = fixture.up(&roots, &s3.variables()).await;
    for (pair, raw) in PAIRS {
        let expected = score_locally(&fixture, pair, raw);
        for prefix in ["", "s3://clips/", &format!("{}/", http.url())] {
            let pair = pair.map(|name| format!("{prefix}{name}"));
            assert_eq!(score_by_job(&fixture, &pair, raw), expected, "{pair:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_are_written_to_the_given_address_with_every_frame() {
    let fixture = Fixture::new();
    let s3 = S3Server::start().await.unwrap();
    fs::create_dir_all(s3.files().join("out")).unwrap();
    fs::create_dir(fixture.path("reports")).unwrap();
    let home = format!("--root={}", fixture.path("").display());
    let _up = fixture.up(&[&home, "--root=s3://out/"], &s3.variables()).await;
    let submit = |report: &str| {
        let pair = ["submit", "ref.yuv", "dis.yuv", "--wait", "--report", report];
        fixture.run(&[&pair, &crate::fixture::RAW[..]].concat()).ok();
    };
    submit("reports/");
    submit("s3://out/frames.csv");
    let report: Value =
        serde_json::from_slice(&fs::read(fixture.path("reports/dis.yuv.json")).unwrap()).unwrap();
    assert_eq!(report["frames"].as_array().unwrap().len(), 48);
    let table = fs::read_to_string(s3.files().join("out/frames.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 48, "{table}");
}
