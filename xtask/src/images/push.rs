//! Pushes images to a registry.
//!
//! A registry with referrers finds the bill of materials by its subject, the image. For other registries it also has a tag
//! that is derived from the image's digest, as other tools do it.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use serde_json::Value;
use vmafx_image::{Descriptor, ImageLayout};
use vmafx_oci::{DirectTransport, RegistryClient, RegistryCredentials, RegistryLimits, Repository};

use super::write::WrittenImage;

/// An image is larger than a model, for which the default timeout is meant.
const TIMEOUT: Duration = Duration::from_hours(1);

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn all(made: &[WrittenImage], prefix: &str, tag: &str, plain_http: bool) -> Result<()> {
    let prefix = prefix.trim_end_matches('/');
    let host = prefix.split('/').next().unwrap_or_default().to_owned();
    let limits = RegistryLimits { operation: TIMEOUT, ..RegistryLimits::default() };
    let transport = Arc::new(DirectTransport::new(limits.connect)?);
    let plain = if plain_http { vec![host] } else { Vec::new() };
    let client = RegistryClient::with(transport, RegistryCredentials::of_process(), plain, limits);
    for one in made {
        let name = format!("{prefix}/{}", one.product.program);
        let repository =
            Repository::parse(&name).with_context(|| format!("{name} is not a valid repository"))?;
        let digest = push(&client, &repository, one, &one.manifest, tag).await?;
        let sbom_tag = format!("{}.spdx", digest.replace(':', "-"));
        push(&client, &repository, one, &one.sbom, &sbom_tag).await?;
        println!("pushed {name}:{tag}@{digest}");
    }
    Ok(())
}

async fn push(
    client: &RegistryClient,
    repository: &Repository,
    made: &WrittenImage,
    manifest: &Descriptor,
    tag: &str,
) -> Result<String> {
    let (blobs, manifest) = parts(&made.layout, manifest)?;
    let digest = client.push_manifest(repository, &blobs, manifest, tag).await;
    Ok(digest.with_context(|| format!("cannot push {}", made.name))?.to_string())
}

/// The blobs of a manifest, and the manifest itself.
fn parts(layout: &ImageLayout, manifest: &Descriptor) -> Result<(Vec<Bytes>, Bytes)> {
    let document = layout.document(&manifest.digest)?;
    let read = |digest: &str| fs::read(layout.path(digest)).map(Bytes::from);
    let layers = document["layers"].as_array().into_iter().flatten();
    let named = layers.chain([&document["config"]]).filter_map(|part: &Value| part["digest"].as_str());
    let blobs = named.map(read).collect::<Result<Vec<_>, _>>()?;
    Ok((blobs, read(&manifest.digest)?))
}

#[cfg(test)]
mod tests {
    use vmafx_testkit::registry::{RegistryAuth, RegistryServer};

    use super::*;
    use crate::images::tests::operator;

    #[test]
    fn a_pushed_image_is_there_with_its_bill_of_materials() {
        let directory = tempfile::tempdir().unwrap();
        let (_, made) = operator(directory.path(), "images");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let registry = runtime.block_on(RegistryServer::start(RegistryAuth::Open)).unwrap();
        let prefix = format!("{}/team/", registry.address());
        all(std::slice::from_ref(&made), &prefix, "v0.1.0", true).unwrap();

        let client =
            RegistryClient::new(RegistryCredentials::none(), vec![registry.address().to_owned()]).unwrap();
        let repository = Repository::parse(&format!("{prefix}vmafx-operator")).unwrap();
        let resolve = |tag: &str| runtime.block_on(client.resolve(&repository.tagged(tag))).unwrap();
        assert_eq!(resolve("v0.1.0").0.to_string(), made.manifest.digest);
        let sbom_tag = format!("{}.spdx", made.manifest.digest.replace(':', "-"));
        let (digest, manifest) = resolve(&sbom_tag);
        assert_eq!(digest.to_string(), made.sbom.digest);
        assert_eq!(manifest.artifact_type.as_deref(), Some(crate::images::sbom::MEDIA_TYPE));
    }
}
