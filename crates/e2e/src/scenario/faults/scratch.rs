//! A clip is larger than the volume for clips: its job fails and says why, and nobody else notices.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

use super::account::End;
use super::chance::Role;
use super::ground::Ground;
use crate::clips::Clips;

/// What workers have.
pub(super) const VOLUME: &str = "8Mi";
/// What downloads may fill of it, as the refusal says it.
const ROOM: &str = "6Mi";
const BUCKET: &str = "faults";
/// Where its clips are.
pub(super) const ROOT: &str = "s3://faults/";
const LARGE: usize = 12 << 20;
const BATCH_NAME: &str = "scratch";
const JOBS: usize = 40;
/// Of these, the first that have their clips from the store too.
const FETCHED: usize = 10;

/// Some jobs need more than there is, some need the store, some need neither.
pub(super) async fn play(ground: &mut Ground<'_>) -> Result<()> {
    let bucket = ground.platform.outside().await?.s3();
    let golden = Clips::GOLDEN.map(|name| (name, ground.platform.clips().here(name)));
    for (name, path) in &golden {
        bucket.put(BUCKET, name, &std::fs::read(path).with_context(|| format!("the clip {name}"))?)?;
    }
    bucket.put(BUCKET, "large.yuv", &vec![0; LARGE])?;
    let score = ground.platform.clips().score(Clips::GOLDEN).await?;
    let before = workers(ground).await?;

    let mut batch = ground.batch(BATCH_NAME, JOBS);
    for (number, (_, spec, end)) in batch.iter_mut().enumerate().take(FETCHED) {
        let large = number % 5 == 0;
        let [reference, distorted] = Clips::GOLDEN;
        spec["reference"] = json!(format!("{ROOT}{}", if large { "large.yuv" } else { reference }));
        spec["distorted"] = json!(format!("{ROOT}{distorted}"));
        *end = if large { End::Failure(&["of scratch", ROOM]) } else { End::Score(score) };
    }
    ground.ask(&batch).await?;
    ground.settle(BATCH_NAME).await?;
    let after = workers(ground).await?;
    ensure!(before == after, "workers were ended for one job's sake: {before:?} became {after:?}");
    Ok(())
}

/// The workers, and how often each was started again.
async fn workers(ground: &Ground<'_>) -> Result<BTreeMap<String, i32>> {
    let restarts = |pod: &Pod| {
        let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
        Some(status.restart_count)
    };
    let pods = ground.alive(Role::Node).await?;
    Ok(pods.iter().map(|pod| (pod.uid().unwrap_or_default(), restarts(pod).unwrap_or_default())).collect())
}
