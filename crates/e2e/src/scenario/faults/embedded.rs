//! Faults of a release with the embedded store: one controller on SQLite, two workers.
//!
//! | file       | does                                                                                        |
//! |------------|---------------------------------------------------------------------------------------------|
//! | `plan`     | pure: the faults of the random run that concern a controller on SQLite                      |
//! | `restored` | pure: verifies jobs after a restore                                                         |
//! | `store`    | reads jobs and attempts from the SQLite file                                                |
//! | `fixture`  | installs the release, creates jobs and verifies them                                        |
//! | `clock`    | the controller's clock is stepped by ten minutes in both directions                         |
//! | `restore`  | the store is replaced by a backup                                                           |
//! | `random`   | both, and killed Pods, in random order                                                      |

mod clock;
mod fixture;
mod plan;
pub(super) mod random;
mod restore;
mod restored;
mod store;

use anyhow::Result;
use serde_json::json;

use self::fixture::EmbeddedFixture;
use crate::platform::Platform;
use crate::steps::Steps;

/// Steps the clock of a controller while jobs run.
pub async fn clock_steps(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let mut fixture = set_up(platform, steps).await?;
    clock::run(&mut fixture, steps).await?;
    steps.step("embedded: uninstall", fixture.tear_down()).await
}

/// Replaces the store of a controller by a backup.
pub async fn restore(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let mut fixture = set_up(platform, steps).await?;
    restore::run(&mut fixture, steps).await?;
    steps.step("embedded: uninstall", fixture.tear_down()).await
}

async fn set_up<'a>(platform: &'a Platform, steps: &mut Steps) -> Result<EmbeddedFixture<'a>> {
    let defaults = json!({});
    let set_up = EmbeddedFixture::set_up(platform, &defaults);
    steps.step("embedded: one controller on SQLite with a clock of its own", set_up).await
}
