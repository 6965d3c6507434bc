//! The tar file of one image.
//!
//! It is in OCI layout, which containerd imports directly and docker loads since version 25. Older versions of docker
//! read the `manifest.json` beside it, which points to the same blobs.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use serde_json::{Value, json};
use tar::Builder;

use crate::error::ImageError;
use crate::layout::{Descriptor, INDEX_FILE, ImageLayout, LAYOUT_CONTENT, LAYOUT_FILE, blob_name, index};
use crate::tree::{append_bytes, append_file};

/// Writes an image of a layout to a tar file; `name` includes registry and tag.
pub fn write(layout: &ImageLayout, image: &Descriptor, name: &str, target: &Path) -> Result<(), ImageError> {
    let manifest = layout.document(&image.digest)?;
    let output = |source| ImageError::Output { path: target.to_owned(), source };
    assemble(layout, image, &manifest, name, target).map_err(output)
}

fn assemble(
    layout: &ImageLayout,
    image: &Descriptor,
    manifest: &Value,
    name: &str,
    target: &Path,
) -> io::Result<()> {
    let digest = |descriptor: &Value| descriptor["digest"].as_str().unwrap_or_default().to_owned();
    let config = digest(&manifest["config"]);
    let layers: Vec<_> = manifest["layers"].as_array().into_iter().flatten().map(digest).collect();
    let image_index = index(&[image.clone().named(name)]);
    let docker_manifest = json!([{
        "Config": blob_name(&config),
        "RepoTags": [name],
        "Layers": layers.iter().map(|layer| blob_name(layer)).collect::<Vec<_>>(),
    }]);
    let mut tar = Builder::new(BufWriter::new(File::create(target)?));
    append_bytes(&mut tar, Path::new(LAYOUT_FILE), LAYOUT_CONTENT, 0o644)?;
    append_bytes(&mut tar, Path::new(INDEX_FILE), image_index.to_string().as_bytes(), 0o644)?;
    append_bytes(&mut tar, Path::new("manifest.json"), docker_manifest.to_string().as_bytes(), 0o644)?;
    for blob in [&image.digest, &config].into_iter().chain(&layers) {
        append_file(&mut tar, &blob_name(blob), &layout.path(blob), 0o644)?;
    }
    tar.into_inner()?.flush()
}
