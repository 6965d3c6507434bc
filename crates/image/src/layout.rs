//! A directory in OCI image layout.
//!
//! Everything in it is a blob under its digest, so that a layer which several images share is there once. `index.json`
//! is written last and names what people look for; what is attached to an image says so itself (`subject`).

mod config;
mod descriptor;

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};

pub use config::Config;
pub use descriptor::{CONFIG, Descriptor, EMPTY, INDEX, MANIFEST, architecture};

use crate::error::ImageError;
use crate::hash::{Hashing, sha256};
use crate::tree::Tree;

pub(crate) const LAYOUT_FILE: &str = "oci-layout";
pub(crate) const INDEX_FILE: &str = "index.json";
pub(crate) const LAYOUT_CONTENT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// How a layer is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As it is: quickest, for images that stay on this machine.
    Plain,
    /// With gzip, which every runtime reads.
    Gzip,
}

/// A layer that is in a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// As it is stored.
    pub blob: Descriptor,
    /// The digest of the tar file in it.
    pub diff_id: String,
    /// The size of the tar file in it.
    pub unpacked: u64,
    /// What it is for, as the image's history tells.
    pub purpose: String,
}

/// A directory in OCI image layout.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// Begins one in a directory, which is made if it is not there.
    pub fn create(root: impl Into<PathBuf>) -> Result<Self, ImageError> {
        let layout = Self { root: root.into() };
        let blobs = layout.root.join("blobs/sha256");
        fs::create_dir_all(&blobs).map_err(|source| ImageError::Output { path: blobs, source })?;
        put(&layout.root.join(LAYOUT_FILE), LAYOUT_CONTENT)?;
        Ok(layout)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file of a blob.
    pub fn path(&self, digest: &str) -> PathBuf {
        self.root.join(blob_name(digest))
    }

    /// Stores bytes.
    pub fn blob(&self, media_type: &str, bytes: &[u8]) -> Result<Descriptor, ImageError> {
        let descriptor = Descriptor::new(media_type, sha256(bytes), bytes.len() as u64);
        put(&self.path(&descriptor.digest), bytes)?;
        Ok(descriptor)
    }

    /// Stores a layer.
    pub fn layer(&self, tree: &Tree, purpose: &str, packing: Packing) -> Result<Layer, ImageError> {
        let output = |source| ImageError::Output { path: self.root.clone(), source };
        // It gets its name, which is its digest, when it is whole.
        let file = tempfile::NamedTempFile::new_in(&self.root).map_err(output)?;
        let stored = Hashing::new(BufWriter::new(file));
        let (stored, diff_id, unpacked, media_type) = match packing {
            Packing::Plain => {
                let (stored, diff_id, size) = tree.write(Hashing::new(stored))?.finish();
                (stored, diff_id, size, "application/vnd.oci.image.layer.v1.tar")
            }
            Packing::Gzip => {
                // Neither a time nor a name, and "unknown" for the system it was made on.
                let packer = GzBuilder::new().mtime(0).operating_system(255);
                let packer = packer.write(stored, Compression::default());
                let (packer, diff_id, size) = tree.write(Hashing::new(packer))?.finish();
                let stored = packer.finish().map_err(output)?;
                (stored, diff_id, size, "application/vnd.oci.image.layer.v1.tar+gzip")
            }
        };
        let (stored, digest, size) = stored.finish();
        let file = stored.into_inner().map_err(|error| output(error.into_error()))?;
        // Temporary files are for their owner alone; an image is for everybody.
        file.as_file().set_permissions(Permissions::from_mode(0o644)).map_err(output)?;
        let path = self.path(&digest);
        file.persist(&path).map_err(|error| ImageError::Output { path, source: error.error })?;
        Ok(Layer {
            blob: Descriptor::new(media_type, digest, size),
            diff_id,
            unpacked,
            purpose: purpose.into(),
        })
    }

    /// Stores an image of these layers, the lowest first; its manifest.
    pub fn image(&self, config: &Config, layers: &[Layer]) -> Result<Descriptor, ImageError> {
        let config = self.blob(CONFIG, config.document(layers).to_string().as_bytes())?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config,
            "layers": layers.iter().map(|layer| &layer.blob).collect::<Vec<_>>(),
        });
        let manifest = self.blob(MANIFEST, manifest.to_string().as_bytes())?;
        Ok(manifest.for_this_machine())
    }

    /// Attaches a document to an image; the manifest that says so.
    pub fn attach(
        &self,
        to: &Descriptor,
        media_type: &str,
        title: &str,
        content: &[u8],
    ) -> Result<Descriptor, ImageError> {
        let config = self.blob(EMPTY, b"{}")?;
        let content = self.blob(media_type, content)?.annotated("org.opencontainers.image.title", title);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": media_type,
            "config": config,
            "layers": [content],
            "subject": to.bare(),
        });
        let mut manifest = self.blob(MANIFEST, manifest.to_string().as_bytes())?;
        manifest.artifact_type = Some(media_type.to_owned());
        Ok(manifest)
    }

    /// Says what is in it. Last.
    pub fn index(&self, manifests: &[Descriptor]) -> Result<(), ImageError> {
        put(&self.root.join(INDEX_FILE), index(manifests).to_string().as_bytes())
    }

    /// A document that is in it.
    pub fn document(&self, digest: &str) -> Result<Value, ImageError> {
        let path = self.path(digest);
        let damaged = |source| ImageError::Damaged { path: path.clone(), source };
        let file = File::open(&path).map_err(damaged)?;
        serde_json::from_reader(io::BufReader::new(file)).map_err(|error| damaged(error.into()))
    }
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), ImageError> {
    let written = File::create(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|source| ImageError::Output { path: path.to_owned(), source })
}

/// The document that lists manifests.
pub(crate) fn index(manifests: &[Descriptor]) -> Value {
    json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})
}

/// The path of a blob within a layout.
pub(crate) fn blob_name(digest: &str) -> PathBuf {
    Path::new("blobs").join(digest.replace(':', "/"))
}

#[cfg(test)]
mod tests;
