//! Programs that `scripts/setup` puts into the user's cache.

use std::env;
use std::path::PathBuf;

use vmafx_testkit::kube::assets;

/// The variable by which the scoring engine is told its ffmpeg.
pub(crate) const FFMPEG_VARIABLE: &str = "VMAFX_FFMPEG_BIN";

/// The ffmpeg with libvmaf inside: the one that the environment names, else the one in the cache, if it is there.
pub(crate) fn ffmpeg() -> Option<PathBuf> {
    if let Some(named) = env::var_os(FFMPEG_VARIABLE).filter(|name| !name.is_empty()) {
        return Some(named.into());
    }
    let path = assets::cache()?
        .join("tools/imageio-ffmpeg-0.7.0/imageio_ffmpeg/binaries/ffmpeg-linux-x86_64-v7.0.2");
    path.is_file().then_some(path)
}
