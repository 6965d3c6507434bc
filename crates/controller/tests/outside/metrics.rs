//! Who sees the names of tenants on the metrics page.

use crate::controller::{ALL, Controller, STRANGER, config};
use crate::http::Http;
use crate::node::{TestNode, clips, submit};

const SCRAPER: &str = "scraper-0123456789abcdef";

/// The series of jobs, without their names' prefix.
fn job_series(page: &str) -> Vec<&str> {
    let names =
        ["jobs_submitted_total", "jobs_completed_total", "jobs_pending", "job_duration_seconds_count"];
    let lines = page.lines().filter_map(|line| line.strip_prefix("vmafx_controller_"));
    lines.filter(|line| names.iter().any(|name| line.starts_with(name))).collect()
}

#[tokio::test]
async fn names_of_tenants_need_the_token_of_the_scraper() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{SCRAPER}\n")).unwrap();
    let token_file = file.path().to_str().unwrap();
    let controller = Controller::with(config().env("VMAFX_AUTH_METRICS_TOKEN_FILE", token_file)).await;
    for (token, jobs) in [(ALL, 2), (STRANGER, 1)] {
        let mut client = controller.client(token);
        for _ in 0..jobs {
            submit(&mut client, clips()).await;
        }
    }
    let node = TestNode::register(controller.client(ALL)).await;
    let work = node.pull().await.unwrap();
    let mut report = node.report_request(&work, 90.0);
    let model = "oci://registry.example/acme/models:house".to_owned();
    report.result = Some(vmafx_proto::controller::v1::ResultDetails { model, ..Default::default() });
    node.report(report).await.unwrap();

    let page = Http::new(controller.http(), None).get("/metrics").await.expect(200);
    let page = page.as_str().unwrap();
    let expected = [
        "jobs_submitted_total{} 3",
        "jobs_completed_total{} 1",
        "job_duration_seconds_count{outcome=\"completed\"} 1",
        "jobs_pending{} 2.0",
    ];
    assert_eq!(job_series(page), expected);
    assert!(page.contains("vmafx_quality_score_count{model=\"other\",profile=\"standard\"} 1"), "{page}");
    for name in ["acme", "tenant="] {
        assert!(!page.contains(name), "{name} in {page}");
    }

    let page = controller.http_with(SCRAPER).get("/metrics").await.expect(200);
    let mut series = job_series(page.as_str().unwrap());
    series.sort_unstable();
    let expected = [
        "job_duration_seconds_count{tenant=\"acme\",outcome=\"completed\"} 1",
        "jobs_completed_total{tenant=\"acme\"} 1",
        "jobs_completed_total{tenant=\"other\"} 0",
        "jobs_pending{tenant=\"acme\"} 1.0",
        "jobs_pending{tenant=\"other\"} 1.0",
        "jobs_submitted_total{tenant=\"acme\"} 2",
        "jobs_submitted_total{tenant=\"other\"} 1",
    ];
    assert_eq!(series, expected);
}

#[tokio::test]
async fn a_wrong_token_is_refused_where_one_is_configured_and_a_role_is_not_enough() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), SCRAPER).unwrap();
    let token_file = file.path().to_str().unwrap();
    let controller = Controller::with(config().env("VMAFX_AUTH_METRICS_TOKEN_FILE", token_file)).await;
    controller.http_with(ALL).get("/metrics").await.refused(401);

    let open = Controller::start(&[]).await;
    submit(&mut open.client(ALL), clips()).await;
    let page = open.http_with(ALL).get("/metrics").await.expect(200);
    assert!(!page.as_str().unwrap().contains("acme"), "{page}");
}
