//! The speed of the disk.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Appends of 1 KiB, each with its own sync, per second.
pub(crate) fn synced_appends(directory: &Path) -> std::io::Result<f64> {
    const LENGTH: Duration = Duration::from_secs(2);
    let path = directory.join(format!("raw-{}.bin", std::process::id()));
    let mut file = File::create(&path)?;
    let block = [0x5a; 1024];
    let begin = Instant::now();
    let mut count = 0_u32;
    while begin.elapsed() < LENGTH {
        file.write_all(&block)?;
        file.sync_data()?;
        count += 1;
    }
    let rate = f64::from(count) / begin.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    Ok(rate)
}
