//! Scores and labels made-up clips on a running controller, so that a trainer has samples to learn from.
//! `make bench ONLY=trainer` runs it.
//!
//! Usage: `label_clips HOST:PORT COUNT`, with the settings of a controller's client (`VMAFX_CONTROLLER_TOKEN`, …).

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use clap::Parser as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use vmafx_kit::channel::{ChannelArgs, GrpcChannel};
use vmafx_kit::config::HostPorts;
use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;

const IN_FLIGHT: u16 = 32;

#[derive(clap::Parser)]
struct Args {
    controller: HostPorts,
    count: u32,
    #[command(flatten)]
    channel: ChannelArgs,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let client = VmafxControllerClient::new(args.channel.open(&args.controller)?);
    let request = wire::RegisterNodeRequest {
        name: "label-clips".into(),
        capability: Some(capability()),
        ..Default::default()
    };
    let session = client.clone().register_node(request).await?.into_inner();
    stream::iter(0..args.count)
        .map(|number| label_clip(client.clone(), &session, number))
        .buffer_unordered(IN_FLIGHT.into())
        .try_collect()
        .await
}

/// Submits a job, reports features for the job that comes back, and labels it. Calls run concurrently, so the job that
/// is pulled may be one that another call submitted; clips are made up, so that makes no difference.
async fn label_clip(
    mut client: VmafxControllerClient<GrpcChannel>,
    session: &wire::RegisterNodeResponse,
    number: u32,
) -> anyhow::Result<()> {
    let submission = wire::SubmitJobRequest {
        scoring: Some(wire::ScoringParams {
            reference: "/clips/r.y4m".into(),
            distorted: "/clips/d.y4m".into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    client.submit_job(submission).await?;
    let pull = wire::PullWorkRequest {
        node_id: session.node_id.clone(),
        session_token: session.session_token.clone(),
        capability: Some(capability()),
        wait_ms: 10_000,
        ..Default::default()
    };
    let job = client.pull_work(pull).await?.into_inner().job.context("the controller handed out no job")?;
    let (features, label) = clip(number);
    let report = wire::ReportResultRequest {
        node_id: session.node_id.clone(),
        session_token: session.session_token.clone(),
        job_id: job.id.clone(),
        r#final: true,
        score: label,
        features,
        attempt: job.attempt,
        ..Default::default()
    };
    ensure!(client.report_result(report).await?.into_inner().ok, "the controller rejected a report");
    let label = wire::LabelJobRequest {
        target: Some(wire::label_job_request::Target::JobId(job.id)),
        ground_truth: Some(wire::GroundTruth { value: label, scale: 0 }),
    };
    ensure!(client.label_job(label).await?.into_inner().sampled, "a label made no sample");
    Ok(())
}

/// Features and label of a clip. Multiples of irrational numbers fill the ranges evenly and are the same in every run.
fn clip(number: u32) -> (BTreeMap<String, f64>, f64) {
    let fraction = |prime: f64| (f64::from(number) * prime.sqrt()).fract();
    let adm2 = fraction(2.0);
    let features = [
        ("integer_adm2", adm2),
        ("integer_motion2", fraction(3.0) * 20.0),
        ("integer_vif_scale0", fraction(5.0)),
        ("integer_vif_scale1", fraction(7.0)),
        ("integer_vif_scale2", fraction(11.0)),
        ("integer_vif_scale3", fraction(13.0)),
    ];
    (features.map(|(name, value)| (name.to_owned(), value)).into(), adm2 * 100.0)
}

fn capability() -> wire::NodeCapability {
    wire::NodeCapability { backends: vec!["cpu".into()], concurrency: IN_FLIGHT.into(), ..Default::default() }
}
