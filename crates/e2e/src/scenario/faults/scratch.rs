//! A clip is larger than the scratch volume: its job fails with the reason, and no other job is affected.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

use super::fixture::FaultFixture;
use super::plan::Role;
use super::verify::ExpectedEnd;
use crate::clips::Clips;

/// Size limit of the workers' scratch volume.
pub(super) const VOLUME: &str = "8Mi";
/// The part of it that downloads may use, as the error message writes it.
const ROOM: &str = "6Mi";
pub(super) const BUCKET: &str = "faults";
pub(super) const ROOT: &str = "s3://faults/";
const LARGE: usize = 12 << 20;
const BATCH_NAME: &str = "scratch";
const JOBS: usize = 40;
/// Jobs at the beginning of the batch whose clips are in the object store.
const FETCHED: usize = 10;

/// Some jobs need more scratch space than there is, some need the object store, some neither.
pub(super) async fn run(fixture: &mut FaultFixture<'_>) -> Result<()> {
    let bucket = fixture.platform.external_services().await?.s3();
    let golden = Clips::GOLDEN.map(|name| (name, fixture.platform.clips().host_path(name)));
    for (name, path) in &golden {
        bucket.put(
            BUCKET,
            name,
            &std::fs::read(path).with_context(|| format!("cannot read the clip {name}"))?,
        )?;
    }
    bucket.put(BUCKET, "large.yuv", &vec![0; LARGE])?;
    let score = fixture.platform.clips().score(Clips::GOLDEN).await?;
    let before = workers(fixture).await?;

    let mut batch = fixture.batch(BATCH_NAME, JOBS);
    for (number, (_, spec, end)) in batch.iter_mut().enumerate().take(FETCHED) {
        let large = number % 5 == 0;
        let [reference, distorted] = Clips::GOLDEN;
        spec["reference"] = json!(format!("{ROOT}{}", if large { "large.yuv" } else { reference }));
        spec["distorted"] = json!(format!("{ROOT}{distorted}"));
        *end = if large { ExpectedEnd::Failure(&["of scratch", ROOM]) } else { ExpectedEnd::Score(score) };
    }
    fixture.create(&batch).await?;
    fixture.verify_batch(BATCH_NAME).await?;
    let after = workers(fixture).await?;
    ensure!(before == after, "workers were restarted because of one job: {before:?} became {after:?}");
    Ok(())
}

/// The restart count of each worker.
async fn workers(fixture: &FaultFixture<'_>) -> Result<BTreeMap<String, i32>> {
    let restarts = |pod: &Pod| {
        let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
        Some(status.restart_count)
    };
    let pods = fixture.pods.live(Role::Node).await?;
    Ok(pods.iter().map(|pod| (pod.uid().unwrap_or_default(), restarts(pod).unwrap_or_default())).collect())
}
