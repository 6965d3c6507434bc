//! Images of one layer.

use std::path::{Path, PathBuf};

use crate::archive;
use crate::error::ImageError;
use crate::layout::{ImageConfig, ImageLayout, LayerCompression};
use crate::libraries::LibraryResolver;
use crate::tree::LayerTree;

const EPOCH: &str = "1970-01-01T00:00:00Z";

/// ```no_run
/// use vmafx_image::Image;
///
/// # fn main() -> Result<(), vmafx_image::ImageError> {
/// let digest = Image::new("localhost/vmafx-node:dev")
///     .program("/usr/bin/vmafx-node", "target/release/vmafx-node")?
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
    tree: LayerTree,
    config: ImageConfig,
}

impl Image {
    /// An empty image; `name` includes registry and tag.
    pub fn new(name: impl Into<String>) -> Self {
        let config = ImageConfig { created: EPOCH.to_owned(), ..ImageConfig::default() };
        Self { name: name.into(), tree: LayerTree::new(), config }
    }

    /// Adds a program of this machine with all its libraries.
    pub fn program(self, path: impl AsRef<Path>, from: impl Into<PathBuf>) -> Result<Self, ImageError> {
        let from = from.into();
        let closure = LibraryResolver::default()
            .closure([&from])
            .map_err(|source| ImageError::Libraries { program: from.clone(), source })?;
        Ok(self.with(|tree| tree.libraries(&closure).file(path, from, 0o755)))
    }

    /// Adds a file of this machine, which is read when the image is written.
    #[must_use]
    pub fn file(self, path: impl AsRef<Path>, from: impl Into<PathBuf>, mode: u32) -> Self {
        self.with(|tree| tree.file(path, from, mode))
    }

    /// Adds a file with this content.
    #[must_use]
    pub fn bytes(self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>, mode: u32) -> Self {
        self.with(|tree| tree.bytes(path, content, mode))
    }

    /// Adds a directory. Parent directories of entries are added automatically.
    #[must_use]
    pub fn directory(self, path: impl AsRef<Path>, mode: u32) -> Self {
        self.with(|tree| tree.directory(path, mode))
    }

    #[must_use]
    pub fn symlink(self, path: impl AsRef<Path>, to: impl Into<PathBuf>) -> Self {
        self.with(|tree| tree.symlink(path, to))
    }

    #[must_use]
    pub fn entrypoint<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.config.entrypoint = words.into_iter().map(Into::into).collect();
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.config.env.push(format!("{name}={value}"));
        self
    }

    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.labels.insert(name.into(), value.into());
        self
    }

    /// `uid` or `uid:gid`, as numbers: Kubernetes cannot verify that a user name is not root.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.config.user = user.into();
        self
    }

    fn with(mut self, change: impl FnOnce(LayerTree) -> LayerTree) -> Self {
        self.tree = change(self.tree);
        self
    }

    /// Writes the image to a tar file and returns the digest of its manifest, `sha256:…`.
    pub fn write(&self, target: &Path) -> Result<String, ImageError> {
        let output = |source| ImageError::Output { path: target.to_owned(), source };
        // The file has the digests before the layers, and layers may be large, so they are first written beside the target.
        let beside = target.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = tempfile::tempdir_in(beside).map_err(output)?;
        let layout = ImageLayout::create(directory.path())?;
        let layer = layout.layer(&self.tree, "vmafx-image", LayerCompression::None)?;
        let image = layout.image(&self.config, &[layer])?;
        archive::write(&layout, &image, &self.name, target)?;
        Ok(image.digest)
    }
}

#[cfg(test)]
mod tests;
