//! Changes of jobs, and lists of very large ones.

use tonic::Code;
use vmafx_proto::controller::v1 as wire;

use crate::node::{TestNode, clips, get, submit};
use crate::server::TestServer;

fn with_features(job: &wire::Job, features: &[&str]) -> wire::UpdateJobRequest {
    let features = features.iter().map(|name| (*name).to_owned()).collect();
    let scoring = wire::ScoringParams { features, ..job.scoring.clone().unwrap() };
    wire::UpdateJobRequest { job_id: job.id.clone(), scoring: Some(scoring), ..Default::default() }
}

#[tokio::test]
async fn a_waiting_job_changes_in_its_place() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let first = submit(&mut client, clips()).await;
    submit(&mut client, clips()).await;
    let before = get(&mut client, &first).await;
    let update = wire::UpdateJobRequest {
        max_lost_attempts: Some(9),
        active_deadline_seconds: Some(600),
        ..with_features(&before, &["psnr"])
    };
    let updated = client.update_job(update.clone()).await.unwrap().into_inner();
    let job = updated.job.unwrap();
    assert!(updated.changed && job.revision > before.revision);
    assert_eq!((job.max_lost_attempts, job.deadline_at_ms / 1000 - job.created_at), (9, 600));
    assert!(!client.update_job(update).await.unwrap().into_inner().changed, "a repetition changes nothing");

    let node = TestNode::register(server.client().await).await;
    let work = node.pull().await.unwrap();
    assert_eq!((work.id, work.scoring.unwrap().features), (first, vec!["psnr".to_owned()]));
}

#[tokio::test]
async fn a_running_job_shows_what_its_next_attempt_scores() {
    let (_server, mut client, node, work) = TestServer::with_running_job().await;
    let updated = client.update_job(with_features(&work, &["psnr"])).await.unwrap().into_inner();
    let job = updated.job.unwrap();
    assert_eq!(job.scoring.unwrap().features, [""; 0]);
    assert_eq!(job.next_scoring.unwrap().features, ["psnr"]);
    node.complete(&work, 50.0).await;
    let late = client.update_job(with_features(&work, &["ssim"])).await.unwrap().into_inner();
    let job = late.job.unwrap();
    assert_eq!((late.changed, job.status(), job.next_scoring), (false, wire::JobStatus::Completed, None));
}

#[tokio::test]
async fn another_comparison_and_what_a_submission_refuses_are_refused_by_name() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let job = get(&mut client, &id).await;
    let scoring = job.scoring.clone().unwrap();
    let other = |scoring: wire::ScoringParams| wire::UpdateJobRequest {
        scoring: Some(scoring),
        ..with_features(&job, &[])
    };
    let distorted = other(wire::ScoringParams { distorted: "/clips/other".into(), ..scoring.clone() });
    let report = other(wire::ScoringParams { report_uri: "/etc/report.json".into(), ..scoring });
    let deadline =
        wire::UpdateJobRequest { active_deadline_seconds: Some(u64::MAX), ..with_features(&job, &[]) };
    for (request, code, text) in [
        (distorted, Code::InvalidArgument, "scoring.distorted: cannot be changed"),
        (report, Code::PermissionDenied, "scoring.report_uri"),
        (deadline, Code::InvalidArgument, "active_deadline_seconds: must be at most"),
    ] {
        let refusal = client.update_job(request).await.unwrap_err();
        assert_eq!(refusal.code(), code, "{refusal:?}");
        assert!(refusal.message().starts_with(text), "{refusal:?}");
    }
    assert_eq!(get(&mut client, &id).await, job);
    let unknown = wire::UpdateJobRequest { job_id: "no-job".into(), ..Default::default() };
    assert_eq!(client.update_job(unknown).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn a_page_of_very_large_jobs_is_shorter_and_the_next_one_continues() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let long = |name: &str| format!("/clips/{name}{}", "x".repeat(4000));
    let scoring =
        wire::ScoringParams { reference: long("r"), distorted: long("d"), ..clips().scoring.unwrap() };
    for _ in 0..600 {
        submit(&mut client, wire::SubmitJobRequest { scoring: Some(scoring.clone()), ..clips() }).await;
    }
    let (mut listed, mut pages) = (0, 0);
    let mut request = wire::ListJobsRequest { page_size: 1000, ..Default::default() };
    loop {
        let page = client.list_jobs(request.clone()).await.unwrap().into_inner();
        (listed, pages) = (listed + page.jobs.len(), pages + 1);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(listed, 600);
    assert!((2..10).contains(&pages), "{pages}");
}
