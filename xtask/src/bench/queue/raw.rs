//! The speed limit of the disk.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

/// Appends of 1 KiB per second, each with its own `fdatasync`.
pub(super) fn synced_appends(directory: &Path) -> Result<f64> {
    const DURATION: Duration = Duration::from_secs(2);
    let mut file = File::create(directory.join("raw.bin"))?;
    let started = Instant::now();
    let mut count = 0_u32;
    while started.elapsed() < DURATION {
        file.write_all(&[0x5a; 1024])?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / started.elapsed().as_secs_f64())
}
