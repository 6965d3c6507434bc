//! Each call of the service, from end to end.

use std::collections::{BTreeMap, BTreeSet};

use vmafx_proto::controller::v1 as wire;
use vmafx_proto::refusal::RefusalReason;

use crate::node::{TestNode, clips, get, submit};
use crate::server::{OPERATOR, TestServer};

#[tokio::test]
async fn a_job_goes_from_submission_to_its_score() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    assert_eq!(get(&mut client, &id).await.status(), wire::JobStatus::Pending);

    let node = TestNode::register(server.client().await).await;
    let work = node.pull().await.unwrap();
    assert_eq!((work.id.as_str(), work.attempt), (id.as_str(), 1));
    assert_eq!(work.scoring_roots, ["/clips/acme", "/clips"]);
    assert!(node.pull().await.is_none());
    let running = get(&mut client, &id).await;
    assert_eq!((running.status(), running.assigned_node.as_str()), (wire::JobStatus::Running, "node-0"));
    assert_eq!(running.scoring_roots, [""; 0], "roots are for nodes alone");

    node.complete(&work, 93.5).await;
    let done = get(&mut client, &id).await;
    assert_eq!((done.status(), done.final_score), (wire::JobStatus::Completed, 93.5));
    assert_eq!(done.features, BTreeMap::from([("vif".to_owned(), 0.5)]));
    // A node repeats its report if the response was lost.
    node.complete(&work, 93.5).await;
    server.stopped().await;
}

#[tokio::test]
async fn a_score_of_zero_is_a_score() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let node = TestNode::register(server.client().await).await;
    node.complete(&node.pull().await.unwrap(), 0.0).await;
    let done = get(&mut client, &id).await;
    assert_eq!((done.status(), done.final_score), (wire::JobStatus::Completed, 0.0));
}

#[tokio::test]
async fn a_repeated_idempotency_key_returns_the_first_job() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let request = wire::SubmitJobRequest { idempotency_key: "uid-1".into(), ..clips() };
    let first = client.submit_job(request.clone()).await.unwrap().into_inner();
    let second = client.submit_job(request).await.unwrap().into_inner();
    assert_eq!((first.job_id.as_str(), first.deduplicated), (second.job_id.as_str(), false));
    assert!(second.deduplicated);
    assert_eq!(server.metric("vmafx_controller_jobs_submitted_total{tenant=\"acme\"}"), Some(1.0));
}

#[tokio::test]
async fn an_idempotency_key_with_another_request_is_refused_with_a_reason() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let request = wire::SubmitJobRequest { idempotency_key: "uid-1".into(), ..clips() };
    client.submit_job(request.clone()).await.unwrap();
    let refused = client.submit_job(wire::SubmitJobRequest { priority: 9, ..request }).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::AlreadyExists);
    assert_eq!(RefusalReason::of(&refused), Some(RefusalReason::IdempotencyKeyReused));
    assert_eq!(server.metric("vmafx_controller_jobs_submitted_total{tenant=\"acme\"}"), Some(1.0));
}

#[tokio::test]
async fn nobody_can_take_the_idempotency_key_of_another_submitter() {
    let server = TestServer::start().await;
    let (mut other, mut operator) =
        (server.client_as("acme", "other").await, server.client_as("acme", "operator").await);
    // Key and origin of a resource are known to everybody who may read the resource.
    let origin = wire::ResourceRef { cluster: "c".into(), uid: "uid-1".into(), ..Default::default() };
    let request = wire::SubmitJobRequest { idempotency_key: "uid-1".into(), origin: Some(origin), ..clips() };
    let mut foreign = request.clone();
    foreign.scoring.as_mut().unwrap().distorted = "/clips/flattering.y4m".into();
    let taken = other.submit_job(foreign.clone()).await.unwrap().into_inner();

    let own = operator.submit_job(request.clone()).await.unwrap().into_inner();
    assert_eq!((own.deduplicated, own.job_id == taken.job_id), (false, false));
    let job = get(&mut operator, &own.job_id).await;
    assert_eq!(job.scoring.unwrap().distorted, "/clips/d.y4m");
    // Each submitter finds the job of its own key.
    for (client, request, id) in [(&mut operator, request, own.job_id), (&mut other, foreign, taken.job_id)] {
        let again = client.submit_job(request).await.unwrap().into_inner();
        assert_eq!(again, wire::SubmitJobResponse { job_id: id, deduplicated: true });
    }
    assert_eq!(server.metric("vmafx_controller_jobs_submitted_total{tenant=\"acme\"}"), Some(2.0));
}

#[tokio::test]
async fn the_job_with_the_highest_priority_is_first() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    submit(&mut client, clips()).await;
    let urgent = submit(&mut client, wire::SubmitJobRequest { priority: 5, ..clips() }).await;
    let node = TestNode::register(server.client().await).await;
    assert_eq!(node.pull().await.unwrap().id, urgent);
}

#[tokio::test]
async fn a_cancel_reaches_the_node_with_its_next_heartbeat() {
    let (_server, mut client, node, work) = TestServer::with_running_job().await;
    let id = work.id.clone();
    assert_eq!(node.beat(&[&id]).await, wire::HeartbeatResponse { ok: true, ..Default::default() });

    let request = wire::CancelJobRequest { job_id: id.clone(), reason: "not needed".into(), cause: 0 };
    client.cancel_job(request).await.unwrap();
    let response = node.beat(&[&id, "no-id"]).await;
    assert_eq!(
        (response.cancel_job_ids, response.lost_job_ids),
        (vec![id.clone()], vec!["no-id".to_owned()])
    );
    let job = get(&mut client, &id).await;
    assert_eq!((job.status(), job.error.as_str()), (wire::JobStatus::Cancelled, "cancelled: not needed"));
    // The report of the node is acknowledged and changes nothing.
    node.complete(&work, 50.0).await;
    assert_eq!(get(&mut client, &id).await.status(), wire::JobStatus::Cancelled);
}

#[tokio::test]
async fn a_released_job_is_pending_again_at_once() {
    let (_server, _, node, work) = TestServer::with_running_job().await;
    assert!(node.release(&work).await.unwrap());
    assert!(!node.release(&work).await.unwrap(), "the attempt has already ended");
    let again = node.pull().await.unwrap();
    assert_eq!((&again.id, again.attempt, again.lost_attempts), (&work.id, 2, 0));
    // A report of the first attempt is refused.
    let late = node.report(node.report_request(&work, 1.0)).await.unwrap_err();
    assert_eq!(late.code(), tonic::Code::PermissionDenied);
}

#[tokio::test]
async fn a_report_of_an_error_fails_the_job_with_its_reason() {
    let (_server, mut client, node, work) = TestServer::with_running_job().await;
    let mut failed = node.report_request(&work, 0.0);
    failed.error = "no such clip".into();
    failed.failure_reason = wire::FailureReason::InputNotFound.into();
    node.report(failed).await.unwrap();
    let job = get(&mut client, &work.id).await;
    assert_eq!((job.status(), job.error.as_str()), (wire::JobStatus::Failed, "no such clip"));
    assert_eq!(job.failure_reason(), wire::FailureReason::InputNotFound);
}

#[tokio::test]
async fn a_report_that_is_not_final_is_acknowledged_and_changes_nothing() {
    let (_server, mut client, node, work) = TestServer::with_running_job().await;
    let before = get(&mut client, &work.id).await;
    let intermediate = wire::ReportResultRequest { r#final: false, ..node.report_request(&work, 12.0) };
    assert!(node.report(intermediate).await.unwrap().into_inner().ok);
    assert_eq!(get(&mut client, &work.id).await, before);
}

#[tokio::test]
async fn a_waiting_job_is_explained() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, clips()).await;
    let request = wire::ExplainRequest { job_id: id };
    let explained = client.explain(request.clone()).await.unwrap().into_inner();
    assert_eq!(
        (explained.reason(), explained.message.as_str()),
        (wire::WaitReason::NoNode, "No node is connected.")
    );
    let _node = TestNode::register(server.client().await).await;
    let explained = client.explain(request).await.unwrap().into_inner();
    assert_eq!(explained.reason(), wire::WaitReason::Ready, "{}", explained.message);
    let cpu = wire::BackendSupply { backend: "cpu".into(), nodes: 1, slots: 64, busy: 0 };
    assert_eq!(explained.backends, [cpu]);
}

#[tokio::test]
async fn jobs_are_listed_page_by_page() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(submit(&mut client, clips()).await);
    }
    let node = TestNode::register(server.client().await).await;
    node.complete(&node.pull().await.unwrap(), 80.0).await;
    ids.reverse();

    let mut found = Vec::new();
    let mut request = wire::ListJobsRequest { page_size: 2, newest_first: true, ..Default::default() };
    for length in [2, 1] {
        let page = client.list_jobs(request.clone()).await.unwrap().into_inner();
        assert_eq!(page.jobs.len(), length);
        found.extend(page.jobs.into_iter().map(|job| job.id));
        request.page_token = page.next_page_token;
    }
    assert_eq!((found, request.page_token.as_str()), (ids.clone(), ""));

    let done = wire::ListJobsRequest {
        status_filter: vec![wire::JobStatus::Completed.into()],
        ..Default::default()
    };
    let page = client.list_jobs(done).await.unwrap().into_inner();
    assert_eq!(page.jobs.iter().map(|job| &job.id).collect::<Vec<_>>(), [&ids[2]]);
}

#[tokio::test]
async fn nodes_are_listed_without_their_sessions() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    submit(&mut client, clips()).await;
    let node = TestNode::register(server.client().await).await;
    node.pull().await.unwrap();
    let nodes = client.list_nodes(wire::ListNodesRequest {}).await.unwrap().into_inner().nodes;
    let [node] = nodes.as_slice() else { panic!("{nodes:?}") };
    assert_eq!((node.name.as_str(), node.jobs_running), ("node-0", 1));
    assert_eq!(node.capability.as_ref().unwrap().backends, ["cpu"]);
    assert!(node.registered_at_ms > 0 && node.last_seen_at_ms >= node.registered_at_ms);
}

/// Of labels at submission and of later ones.
#[tokio::test]
async fn the_operator_labels_for_namespaces_and_everybody_else_for_themselves() {
    let server = TestServer::start().await;
    let node = TestNode::register(server.client().await).await;
    let mut labellers = BTreeMap::new();
    let callers = [(OPERATOR, "a"), (OPERATOR, "b"), ("anna", "a"), ("anna", "b"), ("ben", "a")];
    for (subject, namespace) in callers {
        let mut client = server.client_as("acme", subject).await;
        let truth = |value| Some(wire::GroundTruth { value, scale: wire::LabelScale::Percent.into() });
        let origin = wire::ResourceRef { namespace: namespace.into(), ..Default::default() };
        let job = wire::SubmitJobRequest { origin: Some(origin), ground_truth: truth(1.0), ..clips() };
        let id = submit(&mut client, job).await;
        node.complete(&node.pull().await.unwrap(), 80.0).await;
        let target = Some(wire::label_job_request::Target::JobId(id.clone()));
        client.label_job(wire::LabelJobRequest { target, ground_truth: truth(2.0) }).await.unwrap();
        labellers.insert(id, (subject, namespace));
    }
    let mut samples = server.client().await.stream_samples(wire::StreamSamplesRequest::default()).await;
    let stream = samples.as_mut().unwrap().get_mut();
    let mut names: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    while let Some(item) = stream.message().await.unwrap() {
        let Some(sample) = item.sample else { continue };
        names.entry(labellers[&sample.job_id]).or_default().insert(sample.labelled_by);
    }
    assert!(names.values().all(|names| names.len() == 1), "{names:?}");
    assert_eq!(names[&("anna", "a")], names[&("anna", "b")]);
    assert_eq!(names.into_values().flatten().collect::<BTreeSet<_>>().len(), 4);
}

#[tokio::test]
async fn a_label_creates_a_sample() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let id = submit(&mut client, wire::SubmitJobRequest { idempotency_key: "k".into(), ..clips() }).await;
    let label = |value| wire::LabelJobRequest {
        target: Some(wire::label_job_request::Target::IdempotencyKey("k".into())),
        ground_truth: Some(wire::GroundTruth { value, scale: wire::LabelScale::Mos.into() }),
    };
    let labelled = client.label_job(label(3.0)).await.unwrap().into_inner();
    assert_eq!((labelled.job_id.as_str(), labelled.sampled), (id.as_str(), false));
    let node = TestNode::register(server.client().await).await;
    node.complete(&node.pull().await.unwrap(), 80.0).await;
    assert!(client.label_job(label(4.0)).await.unwrap().into_inner().sampled);

    let mut samples =
        client.stream_samples(wire::StreamSamplesRequest::default()).await.unwrap().into_inner();
    let (mut values, mut labellers) = (Vec::new(), BTreeSet::new());
    let mut last = None;
    while let Some(item) = samples.message().await.unwrap() {
        values.extend(item.sample.as_ref().map(|sample| sample.ground_truth));
        labellers.extend(item.sample.as_ref().map(|sample| sample.labelled_by.clone()));
        last = Some(item);
    }
    assert_eq!(values, [50.0, 75.0]);
    assert!(labellers.len() == 1 && labellers.iter().all(|name| name.len() == 32), "{labellers:?}");
    assert_eq!(last.unwrap().sample, None, "the last item marks the end of the stored samples");
}
