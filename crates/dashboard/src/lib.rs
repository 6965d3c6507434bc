//! The files of the dashboard, embedded in the program, so that neither `cargo install` nor an image needs Node.
//!
//! `make dashboard` builds them from the directory `dashboard` into `assets`, and `make lint` checks that they are up to
//! date. The name of every file but the page contains a hash of its content, so a browser keeps it for ever. The page names
//! the others, so a browser asks at each visit whether the page has changed.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::{Dir, include_dir};
use sha2::{Digest as _, Sha256};

const PAGE_NAME: &str = "index.html";

/// Embedded by its name, so that a build without it fails.
static PAGE_CONTENT: &[u8] = include_bytes!("../assets/index.html");

static DIRECTORY: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/assets");

static PAGE: LazyLock<Asset> = LazyLock::new(|| Asset::new(Path::new(PAGE_NAME), PAGE_CONTENT, "no-cache"));

static ASSETS: LazyLock<BTreeMap<&'static str, Asset>> = LazyLock::new(|| {
    let named = DIRECTORY.files().filter_map(|file| Some((file.path().to_str()?, file)));
    let hashed = named.filter(|(name, _)| *name != PAGE_NAME);
    let asset = |file: &'static include_dir::File<'static>| {
        Asset::new(file.path(), file.contents(), "public, max-age=31536000, immutable")
    };
    hashed.map(|(name, file)| (name, asset(file))).collect()
});

/// A file with the headers that it is served with.
#[derive(Debug)]
pub struct Asset {
    pub media_type: &'static str,
    pub cache_control: &'static str,
    /// Weak, because both encodings of the content have it.
    pub etag: String,
    pub content: &'static [u8],
    /// The content in gzip, compressed once.
    pub gzip: Vec<u8>,
}

/// The page that every path of the dashboard shows.
pub fn page() -> &'static Asset {
    &PAGE
}

/// The file of exactly this name.
pub fn asset(name: &str) -> Option<&'static Asset> {
    ASSETS.get(name)
}

/// The names that [`asset`] knows.
pub fn asset_names() -> impl Iterator<Item = &'static str> {
    ASSETS.keys().copied()
}

impl Asset {
    fn new(path: &Path, content: &'static [u8], cache_control: &'static str) -> Self {
        let digest = Sha256::digest(content);
        let etag = digest.iter().take(16).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
        Self {
            media_type: media_type(path),
            cache_control,
            etag: format!("W/\"{etag:032x}\""),
            content,
            gzip: gzip(content),
        }
    }
}

fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    // Memory takes every write.
    written.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// What a first visit transfers may not grow unnoticed.
    const MAX_COMPRESSED_BYTES: usize = 250_000;

    fn all() -> impl Iterator<Item = &'static Asset> {
        asset_names().filter_map(asset).chain([page()])
    }

    #[test]
    fn all_files_together_are_small() {
        let compressed: usize = all().map(|asset| asset.gzip.len()).sum();
        assert!(compressed <= MAX_COMPRESSED_BYTES, "{compressed} bytes compressed");
        assert!(compressed > 10_000, "{compressed} bytes are no dashboard");
    }

    #[test]
    fn both_encodings_have_the_same_content() {
        for asset in all() {
            let mut content = Vec::new();
            flate2::read::GzDecoder::new(&*asset.gzip).read_to_end(&mut content).unwrap();
            assert_eq!(content, asset.content, "{}", asset.etag);
        }
    }

    #[test]
    fn the_page_names_every_script_and_style_and_they_exist() {
        let page = std::str::from_utf8(page().content).unwrap();
        let named: Vec<_> = page.split('"').filter_map(|text| text.strip_prefix("/assets/")).collect();
        assert!(named.len() >= 3, "{named:?}");
        for name in &named {
            assert!(asset(name).is_some(), "{name}");
        }
        for name in asset_names().filter(|name| !name.starts_with("licences")) {
            assert!(named.contains(&name), "the page does not use {name}");
        }
    }

    #[test]
    fn every_file_has_its_media_type_and_a_name_that_changes_with_it() {
        for name in asset_names() {
            let found = asset(name).unwrap();
            assert_ne!(found.media_type, "application/octet-stream", "{name}");
            let (_, rest) = name.split_once('-').unwrap();
            let (hash, _) = rest.split_once('.').unwrap();
            assert!(hash.len() >= 8 && hash.chars().all(|letter| letter.is_ascii_alphanumeric()), "{name}");
            assert!(found.cache_control.contains("immutable"), "{name}");
        }
        assert_eq!(page().media_type, "text/html; charset=utf-8");
        assert_eq!(page().cache_control, "no-cache");
    }

    #[test]
    fn only_exact_names_are_found() {
        let name = asset_names().next().unwrap();
        for other in [
            format!("./{name}"),
            format!("../assets/{name}"),
            format!("{name}/"),
            format!("{name}\0"),
            name.to_uppercase(),
            "index.html".to_owned(),
            "../Cargo.toml".to_owned(),
            String::new(),
        ] {
            assert!(asset(&other).is_none(), "{other:?}");
        }
    }
}
