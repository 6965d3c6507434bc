//! From the first install to the last: what a person does with a release.

use anyhow::Result;

use crate::platform::Platform;
use crate::steps::Steps;

/// Installs, scores, trains, scales, upgrades, restarts, uninstalls, and installs again.
pub async fn user(_platform: &Platform, _steps: &mut Steps) -> Result<()> {
    anyhow::bail!("not written yet")
}
