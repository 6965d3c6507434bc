//! Programs that `scripts/setup` installs into the user's cache.

use std::env;
use std::path::PathBuf;

use vmafx_testkit::kube::assets;

/// Environment variable with the path of the scoring engine's ffmpeg.
pub(crate) const FFMPEG_VARIABLE: &str = "VMAFX_FFMPEG_BIN";

/// An ffmpeg with libvmaf: the one in the environment variable, else the one in the cache.
pub(crate) fn ffmpeg() -> Option<PathBuf> {
    if let Some(named) = env::var_os(FFMPEG_VARIABLE).filter(|name| !name.is_empty()) {
        return Some(named.into());
    }
    let path = assets::cache()?
        .join("tools/imageio-ffmpeg-0.7.0/imageio_ffmpeg/binaries/ffmpeg-linux-x86_64-v7.0.2");
    path.is_file().then_some(path)
}
