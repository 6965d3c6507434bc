//! The checkpoints of a repository.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _};
use vmafx_oci::checkpoint::{self, CheckpointMetadata};
use vmafx_oci::{ArtifactReference, Digest, OciError, RegistryClient, Repository};

use super::error::ModelsError;

/// Maximum number of concurrent requests for manifests.
const MAX_CONCURRENT_REQUESTS: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    pub(super) digest: Digest,
    /// Whether the stable tag points to this checkpoint.
    pub(super) stable: bool,
    pub(super) metadata: CheckpointMetadata,
}

#[derive(Debug)]
pub(super) struct CheckpointList {
    /// Grouped by training; within a training the newest is first.
    pub(super) checkpoints: Vec<Checkpoint>,
    /// Tags that look like versions but are not checkpoints, with the reason.
    pub(super) skipped: Vec<String>,
    /// Whether the limit left out checkpoints.
    pub(super) truncated: bool,
}

/// Fetches the newest `limit` checkpoints of every training, or of the training `name`.
pub(super) async fn fetch(
    client: &RegistryClient,
    repository: &Repository,
    name: Option<&str>,
    limit: usize,
) -> Result<CheckpointList, ModelsError> {
    let failed = |source| ModelsError::Registry { resource: repository.to_string(), source };
    let mut list = CheckpointList { checkpoints: Vec::new(), skipped: Vec::new(), truncated: false };
    let trainings = match name {
        // One more than the limit shows whether checkpoints are left out.
        Some(name) => {
            let numbers = client.versions(repository, name, limit.saturating_add(1)).await.map_err(failed)?;
            BTreeMap::from([(name.to_owned(), numbers)])
        }
        None => checkpoint::trainings(&client.tags(repository).await.map_err(failed)?),
    };
    for (training, numbers) in trainings {
        if numbers.is_empty() {
            continue;
        }
        let stable = stable(client, repository, &training).await?;
        list.truncated |= numbers.len() > limit;
        let newest = numbers.iter().rev().take(limit);
        let requests =
            newest.map(|number| fetch_one(client, repository, checkpoint::version_tag(&training, *number)));
        let results: Vec<_> = futures::stream::iter(requests)
            .buffered(MAX_CONCURRENT_REQUESTS)
            .try_collect()
            .await
            .map_err(failed)?;
        for result in results {
            match result {
                Ok((digest, metadata)) => {
                    let stable = stable.as_ref() == Some(&digest);
                    list.checkpoints.push(Checkpoint { digest, stable, metadata });
                }
                Err(problem) => list.skipped.push(problem),
            }
        }
    }
    if list.checkpoints.is_empty() && list.skipped.is_empty() {
        let (repository, name) = (repository.to_string(), name.map(str::to_owned));
        return Err(ModelsError::NoCheckpoints { repository, name });
    }
    Ok(list)
}

/// Fetches the metadata of one checkpoint. The inner error says why the tag is not a checkpoint.
async fn fetch_one(
    client: &RegistryClient,
    repository: &Repository,
    tag: String,
) -> Result<Result<(Digest, CheckpointMetadata), String>, OciError> {
    match client.resolve(&repository.tagged(&tag)).await {
        Ok((digest, manifest)) => Ok(match CheckpointMetadata::parse(&manifest.annotations) {
            Ok(metadata) => Ok((digest, metadata)),
            Err(error) => Err(format!("{tag}: {error}")),
        }),
        // The tag was deleted since it was listed, or another tool pushed it. The other checkpoints can still be shown.
        Err(error @ (OciError::NotFound { .. } | OciError::Manifest(_))) => {
            Ok(Err(format!("{tag}: {error}")))
        }
        Err(error) => Err(error),
    }
}

/// The digest that the stable tag of a training points to.
async fn stable(
    client: &RegistryClient,
    repository: &Repository,
    training: &str,
) -> Result<Option<Digest>, ModelsError> {
    let reference: ArtifactReference = repository.tagged(checkpoint::stable_tag(training));
    match client.resolve(&reference).await {
        Ok((digest, _)) => Ok(Some(digest)),
        Err(OciError::NotFound { .. } | OciError::Manifest(_)) => Ok(None),
        Err(source) => Err(ModelsError::Registry { resource: reference.to_string(), source }),
    }
}

/// Checkpoints of a training that improved its model, the newest first.
#[cfg(test)]
pub(super) fn example() -> Vec<Checkpoint> {
    use vmafx_oci::checkpoint::{ModelComparison, PredictionMetrics};
    let metrics =
        |count, rmse, srocc| PredictionMetrics { count, rmse, plcc: Some(srocc), srocc: Some(srocc) };
    let metadata = |number: u32| {
        let (samples, better) = (u64::from(number) * 100, f64::from(number));
        let model = metrics(samples, 19.64 - better, 0.8474 + better * 0.004);
        let pair = ModelComparison { model, base: metrics(samples, 19.64, 0.8474) };
        CheckpointMetadata {
            name: "sports".to_owned(),
            namespace: "video".to_owned(),
            uid: "0b6c".to_owned(),
            number: number.into(),
            created: jiff::Timestamp::from_second(1_700_000_000 + i64::from(number) * 600).unwrap(),
            base_model: "vmaf_v0.6.1".to_owned(),
            base_digest: Digest::of(b"base").to_string(),
            parent: (number > 1).then(|| Digest::of(&[u8::try_from(number).unwrap() - 1])),
            samples,
            refused: 3,
            cursor: format!("s{samples}"),
            all: pair,
            window: pair,
            held_out: pair,
            gate_passed: number != 5,
            gate_message: "SROCC 0.86 ≥ 0.84 & RMSE 14 ≤ 19 <held out>".to_owned(),
            seed: 7,
            ema: 0.99,
        }
    };
    let checkpoint = |number: u32| Checkpoint {
        digest: Digest::of(&[u8::try_from(number).unwrap()]),
        stable: number == 4,
        metadata: metadata(number),
    };
    (1..=5).rev().map(checkpoint).collect()
}
