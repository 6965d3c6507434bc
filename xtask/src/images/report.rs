//! Prints the images that were written, and checks their size.

use std::path::Path;

use anyhow::{Result, ensure};

use super::product::Product;
use super::write::{WrittenImage, archive_of, layout_of};

pub(crate) fn print(made: &[WrittenImage], output: &Path) {
    println!("{:<44} {:>9} {:>9}  digest", "image", "packed", "unpacked");
    for one in made {
        let packed: u64 = one.layers.iter().map(|layer| layer.blob.size).sum();
        let unpacked: u64 = one.layers.iter().map(|layer| layer.uncompressed_size).sum();
        println!(
            "{:<44} {:>9} {:>9}  {}",
            one.name,
            megabytes(packed),
            megabytes(unpacked),
            one.manifest.digest
        );
        for layer in &one.layers {
            let (packed, unpacked) = (megabytes(layer.blob.size), megabytes(layer.uncompressed_size));
            println!("  {:<42} {packed:>9} {unpacked:>9}  {}", layer.purpose, layer.blob.digest);
        }
    }
    println!("all images with their bills of materials: {}", layout_of(output).display());
    for one in made {
        println!("docker load --input {}", archive_of(output, one.product).display());
    }
}

/// Fails if an image exceeds its size limit.
pub(crate) fn check_size(made: &WrittenImage) -> Result<()> {
    check_bytes(made.product, made.layers.iter().map(|layer| layer.uncompressed_size).sum())
}

fn check_bytes(product: &Product, bytes: u64) -> Result<()> {
    let limit = product.max_size.unwrap_or(u64::MAX);
    let (name, size, max) = (product.program, megabytes(bytes), megabytes(limit));
    ensure!(bytes <= limit, "the image of {name} has {size}, but the limit is {max}");
    Ok(())
}

/// Rounded up to one decimal.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::product::PRODUCTS;

    #[test]
    fn the_operators_image_has_40_megabytes_at_most() {
        let [operator, controller, ..] = &PRODUCTS;
        assert!(check_bytes(operator, 40_000_000).is_ok());
        let error = check_bytes(operator, 40_000_001).unwrap_err().to_string();
        assert_eq!(error, "the image of vmafx-operator has 40.1 MB, but the limit is 40.0 MB");
        assert!(check_bytes(controller, 400_000_000).is_ok());
    }

    #[test]
    fn sizes_are_rounded_up() {
        assert_eq!(megabytes(39_900_001), "40.0 MB");
        assert_eq!(megabytes(1_000_000), "1.0 MB");
    }
}
