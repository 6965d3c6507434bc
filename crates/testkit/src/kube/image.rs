//! Container images from files, without a daemon and without a base image.
//!
//! The result is a tar file in OCI image layout, which containerd imports as it is. The same input gives the same
//! bytes, hence the same digest: entries are sorted, owned by root and dated to the beginning of time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::hex::hex;

const EPOCH: &str = "1970-01-01T00:00:00Z";

/// Why an image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A file that should go into the image.
    #[error("{} cannot be put into the image", .path.display())]
    Input {
        /// The file, as the image calls it.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The image itself.
    #[error("the image {} cannot be written", .path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

#[derive(Debug, Clone)]
enum Entry {
    Directory { mode: u32 },
    File { from: PathBuf, mode: u32 },
    Bytes { content: Vec<u8>, mode: u32 },
    Symlink { to: PathBuf },
}

/// An image to be written.
///
/// ```no_run
/// use vmafx_testkit::kube::image::Image;
///
/// # fn main() -> Result<(), vmafx_testkit::kube::image::ImageError> {
/// let digest = Image::new("localhost/vmafx-node:dev")
///     .file("/usr/bin/vmafx-node", "target/release/vmafx-node", 0o755)
///     .directory("/tmp", 0o1777)
///     .entrypoint(["/usr/bin/vmafx-node"])
///     .user("65532:65532")
///     .write("vmafx-node.tar".as_ref())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Image {
    name: String,
    entries: BTreeMap<PathBuf, Entry>,
    entrypoint: Vec<String>,
    env: Vec<String>,
    labels: BTreeMap<String, String>,
    user: String,
    directory: String,
}

impl Image {
    /// An empty image of this full name, registry and tag included.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// A file of this machine, read when the image is written.
    #[must_use]
    pub fn file(self, path: impl AsRef<Path>, from: impl Into<PathBuf>, mode: u32) -> Self {
        self.entry(path.as_ref(), Entry::File { from: from.into(), mode })
    }

    /// A file with this content.
    #[must_use]
    pub fn bytes(self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>, mode: u32) -> Self {
        self.entry(path.as_ref(), Entry::Bytes { content: content.into(), mode })
    }

    /// A directory. Those above any entry are made without being asked for.
    #[must_use]
    pub fn directory(self, path: impl AsRef<Path>, mode: u32) -> Self {
        self.entry(path.as_ref(), Entry::Directory { mode })
    }

    /// A symbolic link.
    #[must_use]
    pub fn symlink(self, path: impl AsRef<Path>, to: impl Into<PathBuf>) -> Self {
        self.entry(path.as_ref(), Entry::Symlink { to: to.into() })
    }

    /// What a container runs.
    #[must_use]
    pub fn entrypoint<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.entrypoint = words.into_iter().map(Into::into).collect();
        self
    }

    /// An environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push(format!("{name}={value}"));
        self
    }

    /// A label.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Whom it runs as: `uid` or `uid:gid`. Numbers, since Kubernetes cannot tell that a name is not root.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = user.into();
        self
    }

    /// Where it runs.
    #[must_use]
    pub fn working_directory(mut self, directory: impl Into<String>) -> Self {
        self.directory = directory.into();
        self
    }

    fn entry(mut self, path: &Path, entry: Entry) -> Self {
        let path = path.strip_prefix("/").unwrap_or(path);
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            self.entries.entry(above.to_owned()).or_insert(Entry::Directory { mode: 0o755 });
        }
        self.entries.insert(path.to_owned(), entry);
        self
    }

    /// Writes the image to a tar file and returns the digest of its manifest, `sha256:…`.
    pub fn write(&self, target: &Path) -> Result<String, ImageError> {
        let output = |source| ImageError::Output { path: target.to_owned(), source };
        // The layer's digest comes before the layer in the file, and a layer may be large: it waits on disk.
        let mut layer = Layer { file: tempfile::tempfile().map_err(output)?, digest: Sha256::new(), size: 0 };
        self.write_layer(&mut layer)?;
        self.assemble(layer, target).map_err(output)
    }

    fn write_layer(&self, layer: &mut Layer) -> Result<(), ImageError> {
        let mut tar = Builder::new(layer);
        // In order: a directory sorts before what it holds.
        for (path, entry) in &self.entries {
            append(&mut tar, path, entry)
                .map_err(|source| ImageError::Input { path: path.clone(), source })?;
        }
        tar.finish().map_err(|source| ImageError::Input { path: PathBuf::new(), source })
    }

    fn assemble(&self, mut layer: Layer, target: &Path) -> io::Result<String> {
        let layer_digest = format!("sha256:{}", hex(&layer.digest.finalize()));
        let config = self.config(&layer_digest).to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
            "layers": [{
                "mediaType": "application/vnd.oci.image.layer.v1.tar",
                "digest": layer_digest,
                "size": layer.size,
            }],
        });
        let manifest = manifest.to_string().into_bytes();
        let mut listed = descriptor("application/vnd.oci.image.manifest.v1+json", &manifest);
        let digest = listed["digest"].as_str().unwrap_or_default().to_owned();
        listed["platform"] = json!({"os": "linux", "architecture": architecture()});
        listed["annotations"] = json!({
            "io.containerd.image.name": self.name,
            "org.opencontainers.image.ref.name": self.name.rsplit(':').next(),
        });
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [listed],
        });

        let mut tar = Builder::new(File::create(target)?);
        let layout = br#"{"imageLayoutVersion":"1.0.0"}"#;
        append_bytes(&mut tar, Path::new("oci-layout"), layout, 0o644)?;
        append_bytes(&mut tar, Path::new("index.json"), index.to_string().as_bytes(), 0o644)?;
        append_bytes(&mut tar, &blob(&digest), &manifest, 0o644)?;
        append_bytes(&mut tar, &blob(&sha256(&config)), &config, 0o644)?;
        layer.file.rewind()?;
        let mut header = header(EntryType::Regular, 0o644, layer.size);
        tar.append_data(&mut header, blob(&layer_digest), layer.file)?;
        tar.into_inner()?.flush()?;
        Ok(digest)
    }

    fn config(&self, layer_digest: &str) -> Value {
        let mut config = json!({"Entrypoint": self.entrypoint, "Env": self.env, "Labels": self.labels});
        for (key, value) in [("User", &self.user), ("WorkingDir", &self.directory)] {
            if !value.is_empty() {
                config[key] = json!(value);
            }
        }
        json!({
            "created": EPOCH,
            "os": "linux",
            "architecture": architecture(),
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [layer_digest]},
            "history": [{"created": EPOCH, "created_by": "vmafx-testkit"}],
        })
    }
}

/// A file that knows the digest and the size of what was written to it.
struct Layer {
    file: File,
    digest: Sha256,
    size: u64,
}

impl Write for Layer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append<W: Write>(tar: &mut Builder<W>, path: &Path, entry: &Entry) -> io::Result<()> {
    match entry {
        Entry::Directory { mode } => {
            tar.append_data(&mut header(EntryType::Directory, *mode, 0), path, io::empty())
        }
        Entry::Bytes { content, mode } => append_bytes(tar, path, content, *mode),
        Entry::Symlink { to } => tar.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, to),
        Entry::File { from, mode } => {
            let file = File::open(from)?;
            let size = fs::metadata(from)?.len();
            // A file that grows meanwhile must not spill over its entry.
            tar.append_data(&mut header(EntryType::Regular, *mode, size), path, file.take(size))
        }
    }
}

fn append_bytes<W: Write>(tar: &mut Builder<W>, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    tar.append_data(&mut header(EntryType::Regular, mode, bytes.len() as u64), path, bytes)
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": sha256(bytes), "size": bytes.len()})
}

fn blob(digest: &str) -> PathBuf {
    Path::new("blobs").join(digest.replace(':', "/"))
}

fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// What Go and OCI call this machine's processor.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests;
