//! What was made, for people.

use std::path::Path;

use anyhow::{Result, ensure};

use super::product::Product;
use super::write::{Made, archive_of, layout_of};

/// Prints a line per image, and where they are.
pub(crate) fn print(made: &[Made], output: &Path) {
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
    println!("all of them, with their bills of materials: {}", layout_of(output).display());
    for one in made {
        println!("docker load --input {}", archive_of(output, one.product).display());
    }
}

/// Fails if an image is larger than it may be.
pub(crate) fn bounded(made: &Made) -> Result<()> {
    fits(made.product, made.layers.iter().map(|layer| layer.uncompressed_size).sum())
}

fn fits(product: &Product, bytes: u64) -> Result<()> {
    let largest = product.largest.unwrap_or(u64::MAX);
    let (name, is, most) = (product.program, megabytes(bytes), megabytes(largest));
    ensure!(bytes <= largest, "the image of {name} has {is}, and may have {most}");
    Ok(())
}

/// With one digit, rounded up: an image is never larger than it says.
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
        assert!(fits(operator, 40_000_000).is_ok());
        let error = fits(operator, 40_000_001).unwrap_err().to_string();
        assert_eq!(error, "the image of vmafx-operator has 40.1 MB, and may have 40.0 MB");
        assert!(fits(controller, 400_000_000).is_ok());
    }

    #[test]
    fn sizes_are_rounded_up() {
        assert_eq!(megabytes(39_900_001), "40.0 MB");
        assert_eq!(megabytes(1_000_000), "1.0 MB");
    }
}
