//! An image as a directory, to inspect or to run.
//!
//! Only for images of this crate: whiteouts are not supported, and paths that leave the directory are not guarded
//! against.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::error::ImageError;
use crate::layout::{Descriptor, ImageLayout};

/// Unpacks the layers of an image into a directory, the lowest first.
pub fn unpack(layout: &ImageLayout, image: &Descriptor, target: &Path) -> Result<(), ImageError> {
    let manifest = layout.document(&image.digest)?;
    for layer in manifest["layers"].as_array().into_iter().flatten() {
        let path = layout.path(layer["digest"].as_str().unwrap_or_default());
        let damaged = |source| ImageError::Damaged { path: path.clone(), source };
        let file = BufReader::new(File::open(&path).map_err(damaged)?);
        extract(decompressed(layer, file), target).map_err(damaged)?;
    }
    Ok(())
}

fn decompressed(layer: &Value, file: BufReader<File>) -> Box<dyn Read> {
    match layer["mediaType"].as_str() {
        Some(media_type) if media_type.ends_with("+gzip") => Box::new(GzDecoder::new(file)),
        _ => Box::new(file),
    }
}

fn extract(tar: impl Read, target: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(tar);
    archive.set_preserve_permissions(true);
    archive.unpack(target)
}
