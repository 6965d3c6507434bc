//! The checkpoints of a repository.

use futures::{StreamExt as _, TryStreamExt as _};
use vmafx_oci::checkpoint::{self, Facts};
use vmafx_oci::{Client, Digest, OciError, Reference, Repository};

use super::error::ModelsError;

/// Manifests that are asked for at once.
const AT_ONCE: usize = 8;

/// One checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) digest: Digest,
    /// Whether the stable tag means it.
    pub(super) stable: bool,
    pub(super) facts: Facts,
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
    client: &Client,
    repository: &Repository,
    name: Option<&str>,
    limit: usize,
) -> Result<Versions, ModelsError> {
    let failed = |source| ModelsError::Registry { what: repository.to_string(), source };
    let tags = client.tags(repository).await.map_err(failed)?;
    let mut found = Versions { all: Vec::new(), strange: Vec::new(), more: false };
    for (training, numbers) in checkpoint::trainings(&tags) {
        if name.is_some_and(|name| name != training) {
            continue;
        }
        let stable = stable(client, repository, &training, &tags).await?;
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
        return Err(ModelsError::NoCheckpoints { repository, name, tags: tags.len() });
    }
    Ok(found)
}

/// One checkpoint, or why it is none.
async fn one(
    client: &Client,
    repository: &Repository,
    tag: String,
) -> Result<Result<(Digest, Facts), String>, OciError> {
    match client.resolve(&repository.tagged(&tag)).await {
        Ok((digest, manifest)) => Ok(match Facts::read(&manifest.annotations) {
            Ok(facts) => Ok((digest, facts)),
            Err(error) => Err(format!("{tag}: {error}")),
        }),
        // Deleted since the list was made, or not ours: the others can still be shown.
        Err(error @ (OciError::NotFound { .. } | OciError::Manifest(_))) => Ok(Err(format!("{tag}: {error}"))),
        Err(error) => Err(error),
    }
}

/// What the stable tag of a training means.
async fn stable(
    client: &Client,
    repository: &Repository,
    training: &str,
    tags: &[String],
) -> Result<Option<Digest>, ModelsError> {
    let tag = checkpoint::stable_tag(training);
    if !tags.contains(&tag) {
        return Ok(None);
    }
    let reference: Reference = repository.tagged(tag);
    match client.resolve(&reference).await {
        Ok((digest, _)) => Ok(Some(digest)),
        Err(OciError::NotFound { .. } | OciError::Manifest(_)) => Ok(None),
        Err(source) => Err(ModelsError::Registry { what: reference.to_string(), source }),
    }
}
