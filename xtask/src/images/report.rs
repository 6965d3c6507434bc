//! What was made, for people.

use std::path::Path;

use super::write::{Made, archive_of, layout_of};

/// Prints a line per image, and where they are.
pub(crate) fn print(made: &[Made], output: &Path) {
    println!("{:<44} {:>9} {:>9}  digest", "image", "packed", "unpacked");
    for one in made {
        let packed: u64 = one.layers.iter().map(|layer| layer.blob.size).sum();
        let unpacked: u64 = one.layers.iter().map(|layer| layer.unpacked).sum();
        println!(
            "{:<44} {:>9} {:>9}  {}",
            one.name,
            megabytes(packed),
            megabytes(unpacked),
            one.manifest.digest
        );
        for layer in &one.layers {
            let (packed, unpacked) = (megabytes(layer.blob.size), megabytes(layer.unpacked));
            println!("  {:<42} {packed:>9} {unpacked:>9}  {}", layer.purpose, layer.blob.digest);
        }
    }
    println!("all of them, with their bills of materials: {}", layout_of(output).display());
    for one in made {
        println!("docker load --input {}", archive_of(output, one.product).display());
    }
}

/// With one digit, rounded up: an image is never larger than it says.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up() {
        assert_eq!(megabytes(39_900_001), "40.0 MB");
        assert_eq!(megabytes(1_000_000), "1.0 MB");
    }
}
