//! A directory in OCI image layout.
//!
//! Every file is a blob named by its digest, so that a layer which several images share is stored once. `index.json` is
//! written last and lists the images; a document that is attached to an image names it as its `subject`.

mod config;
mod descriptor;

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};

pub use config::ImageConfig;
pub use descriptor::{
    CONFIG_MEDIA_TYPE, Descriptor, EMPTY_MEDIA_TYPE, INDEX_MEDIA_TYPE, MANIFEST_MEDIA_TYPE, architecture,
};

use crate::error::ImageError;
use crate::hash::{HashingWriter, sha256};
use crate::tree::LayerTree;

pub(crate) const LAYOUT_FILE: &str = "oci-layout";
pub(crate) const INDEX_FILE: &str = "index.json";
pub(crate) const LAYOUT_CONTENT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerCompression {
    /// Fastest, for images that stay on this machine.
    None,
    /// Supported by every container runtime.
    Gzip,
}

/// A layer that was written to a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLayer {
    pub blob: Descriptor,
    /// Digest of the uncompressed tar file.
    pub diff_id: String,
    /// Size of the uncompressed tar file.
    pub uncompressed_size: u64,
    /// Shown in the image's history.
    pub purpose: String,
}

/// A directory in OCI image layout.
#[derive(Debug, Clone)]
pub struct ImageLayout {
    root: PathBuf,
}

impl ImageLayout {
    /// Starts a layout in a directory, which is created if it does not exist.
    pub fn create(root: impl Into<PathBuf>) -> Result<Self, ImageError> {
        let layout = Self { root: root.into() };
        let blobs = layout.root.join("blobs/sha256");
        fs::create_dir_all(&blobs).map_err(|source| ImageError::Output { path: blobs, source })?;
        write_file(&layout.root.join(LAYOUT_FILE), LAYOUT_CONTENT)?;
        Ok(layout)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, digest: &str) -> PathBuf {
        self.root.join(blob_name(digest))
    }

    pub fn blob(&self, media_type: &str, bytes: &[u8]) -> Result<Descriptor, ImageError> {
        let descriptor = Descriptor::new(media_type, sha256(bytes), bytes.len() as u64);
        write_file(&self.path(&descriptor.digest), bytes)?;
        Ok(descriptor)
    }

    pub fn layer(
        &self,
        tree: &LayerTree,
        purpose: &str,
        compression: LayerCompression,
    ) -> Result<ImageLayer, ImageError> {
        let output = |source| ImageError::Output { path: self.root.clone(), source };
        // It is renamed to its digest once that is known.
        let file = tempfile::NamedTempFile::new_in(&self.root).map_err(output)?;
        let stored = HashingWriter::new(BufWriter::new(file));
        let (stored, diff_id, uncompressed_size, media_type) = match compression {
            LayerCompression::None => {
                let (stored, diff_id, size) = tree.write(HashingWriter::new(stored))?.finish();
                (stored, diff_id, size, "application/vnd.oci.image.layer.v1.tar")
            }
            LayerCompression::Gzip => {
                // No time, no name, and "unknown" as the system, so that the bytes depend on the content only.
                let gzip = GzBuilder::new().mtime(0).operating_system(255);
                let gzip = gzip.write(stored, Compression::default());
                let (gzip, diff_id, size) = tree.write(HashingWriter::new(gzip))?.finish();
                let stored = gzip.finish().map_err(output)?;
                (stored, diff_id, size, "application/vnd.oci.image.layer.v1.tar+gzip")
            }
        };
        let (stored, digest, size) = stored.finish();
        let file = stored.into_inner().map_err(|error| output(error.into_error()))?;
        // Temporary files are readable by their owner only; an image must be readable by everybody.
        file.as_file().set_permissions(Permissions::from_mode(0o644)).map_err(output)?;
        let path = self.path(&digest);
        file.persist(&path).map_err(|error| ImageError::Output { path, source: error.error })?;
        Ok(ImageLayer {
            blob: Descriptor::new(media_type, digest, size),
            diff_id,
            uncompressed_size,
            purpose: purpose.into(),
        })
    }

    /// Stores an image of these layers, the lowest first; returns its manifest.
    pub fn image(&self, config: &ImageConfig, layers: &[ImageLayer]) -> Result<Descriptor, ImageError> {
        let config = self.blob(CONFIG_MEDIA_TYPE, config.document(layers).to_string().as_bytes())?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_MEDIA_TYPE,
            "config": config,
            "layers": layers.iter().map(|layer| &layer.blob).collect::<Vec<_>>(),
        });
        let manifest = self.blob(MANIFEST_MEDIA_TYPE, manifest.to_string().as_bytes())?;
        Ok(manifest.for_this_machine())
    }

    /// Attaches a document to an image; returns the document's manifest.
    pub fn attach(
        &self,
        to: &Descriptor,
        media_type: &str,
        title: &str,
        content: &[u8],
    ) -> Result<Descriptor, ImageError> {
        let config = self.blob(EMPTY_MEDIA_TYPE, b"{}")?;
        let content = self.blob(media_type, content)?.annotated("org.opencontainers.image.title", title);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_MEDIA_TYPE,
            "artifactType": media_type,
            "config": config,
            "layers": [content],
            "subject": to.without_annotations(),
        });
        let mut manifest = self.blob(MANIFEST_MEDIA_TYPE, manifest.to_string().as_bytes())?;
        manifest.artifact_type = Some(media_type.to_owned());
        Ok(manifest)
    }

    /// Writes `index.json`, which must be the last step.
    pub fn write_index(&self, manifests: &[Descriptor]) -> Result<(), ImageError> {
        write_file(&self.root.join(INDEX_FILE), index(manifests).to_string().as_bytes())
    }

    pub fn document(&self, digest: &str) -> Result<Value, ImageError> {
        let path = self.path(digest);
        let damaged = |source| ImageError::Damaged { path: path.clone(), source };
        let file = File::open(&path).map_err(damaged)?;
        serde_json::from_reader(io::BufReader::new(file)).map_err(|error| damaged(error.into()))
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ImageError> {
    let written = File::create(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|source| ImageError::Output { path: path.to_owned(), source })
}

pub(crate) fn index(manifests: &[Descriptor]) -> Value {
    json!({"schemaVersion": 2, "mediaType": INDEX_MEDIA_TYPE, "manifests": manifests})
}

/// The path of a blob relative to its layout.
pub(crate) fn blob_name(digest: &str) -> PathBuf {
    Path::new("blobs").join(digest.replace(':', "/"))
}

#[cfg(test)]
mod tests;
