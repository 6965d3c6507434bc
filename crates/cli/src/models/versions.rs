//! The checkpoints of a repository.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _};
use vmafx_oci::checkpoint::{self, CheckpointMetadata};
use vmafx_oci::{ArtifactReference, Digest, OciError, RegistryClient, Repository};

use super::error::ModelsError;

/// Manifests that are asked for at once.
const AT_ONCE: usize = 8;

/// One checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) digest: Digest,
    /// Whether the stable tag means it.
    pub(super) stable: bool,
    pub(super) facts: CheckpointMetadata,
}

/// What a repository has.
#[derive(Debug)]
pub(super) struct Versions {
    /// By training, the newest first.
    pub(super) all: Vec<Version>,
    /// Tags that look like versions and are none, with the reason.
    pub(super) strange: Vec<String>,
    /// Whether there are more.
    pub(super) more: bool,
}

/// Asks for the newest `limit` checkpoints of every training, or of one.
pub(super) async fn fetch(
    client: &RegistryClient,
    repository: &Repository,
    name: Option<&str>,
    limit: usize,
) -> Result<Versions, ModelsError> {
    let failed = |source| ModelsError::Registry { what: repository.to_string(), source };
    let mut found = Versions { all: Vec::new(), strange: Vec::new(), more: false };
    let trainings = match name {
        // One more than wanted, to know whether there are more.
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
        found.more |= numbers.len() > limit;
        let newest = numbers.iter().rev().take(limit);
        let asked = newest.map(|number| one(client, repository, checkpoint::version_tag(&training, *number)));
        let answers: Vec<_> =
            futures::stream::iter(asked).buffered(AT_ONCE).try_collect().await.map_err(failed)?;
        for answer in answers {
            match answer {
                Ok((digest, facts)) => {
                    let stable = stable.as_ref() == Some(&digest);
                    found.all.push(Version { digest, stable, facts });
                }
                Err(strange) => found.strange.push(strange),
            }
        }
    }
    if found.all.is_empty() && found.strange.is_empty() {
        let (repository, name) = (repository.to_string(), name.map(str::to_owned));
        return Err(ModelsError::NoCheckpoints { repository, name });
    }
    Ok(found)
}

/// One checkpoint, or why it is none.
async fn one(
    client: &RegistryClient,
    repository: &Repository,
    tag: String,
) -> Result<Result<(Digest, CheckpointMetadata), String>, OciError> {
    match client.resolve(&repository.tagged(&tag)).await {
        Ok((digest, manifest)) => Ok(match CheckpointMetadata::parse(&manifest.annotations) {
            Ok(facts) => Ok((digest, facts)),
            Err(error) => Err(format!("{tag}: {error}")),
        }),
        // Deleted since the list was made, or not ours: the others can still be shown.
        Err(error @ (OciError::NotFound { .. } | OciError::Manifest(_))) => {
            Ok(Err(format!("{tag}: {error}")))
        }
        Err(error) => Err(error),
    }
}

/// What the stable tag of a training means.
async fn stable(
    client: &RegistryClient,
    repository: &Repository,
    training: &str,
) -> Result<Option<Digest>, ModelsError> {
    let reference: ArtifactReference = repository.tagged(checkpoint::stable_tag(training));
    match client.resolve(&reference).await {
        Ok((digest, _)) => Ok(Some(digest)),
        Err(OciError::NotFound { .. } | OciError::Manifest(_)) => Ok(None),
        Err(source) => Err(ModelsError::Registry { what: reference.to_string(), source }),
    }
}

/// Checkpoints of a training that went well, the newest first.
#[cfg(test)]
pub(super) fn example() -> Vec<Version> {
    use vmafx_oci::checkpoint::{ModelComparison, PredictionMetrics};
    let metrics =
        |count, rmse, srocc| PredictionMetrics { count, rmse, plcc: Some(srocc), srocc: Some(srocc) };
    let one = |number: u32| {
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
    let version = |number: u32| Version {
        digest: Digest::of(&[u8::try_from(number).unwrap()]),
        stable: number == 4,
        facts: one(number),
    };
    (1..=5).rev().map(version).collect()
}
