//! From the first install to the last: what a person does with a release.
//!
//! | file        | shows                                                                                        |
//! |-------------|----------------------------------------------------------------------------------------------|
//! | `install`   | an older release is installed, upgraded to this one, uninstalled, and installed again        |
//! | `queue`     | jobs of the queue: a file, an object store, what is refused before it is stored              |
//! | `pod`       | jobs in Pods of their own: tried again, too late, deleted, suspended, cancelled              |
//! | `training`  | a model learns from labelled jobs and scores the next one                                    |
//! | `pool`      | workers start, scale, pause, return                                                          |
//! | `restart`   | everything is restarted while jobs run, and no job is lost                                   |

mod install;
mod pod;
mod pool;
mod queue;
mod restart;
mod stage;
mod training;

use anyhow::Result;

use self::stage::Stage;
use crate::platform::Platform;
use crate::steps::Steps;

/// Installs, scores, trains, scales, upgrades, restarts, uninstalls, installs again, and removes everything.
pub async fn user(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let stage = steps.step("a namespace, clips and services outside", Stage::set(platform)).await?;
    steps.step("helm install of an older release", install::older(&stage)).await?;
    steps.step("register a node", pool::register(&stage)).await?;
    steps.step("a job with files", queue::files(&stage)).await?;
    steps.step("a job with s3:// and credentials in a Secret", queue::objects(&stage)).await?;
    steps.step("what is refused before it is stored", queue::refused(&stage)).await?;
    steps.step("a field that the older release does not know is dropped", install::unknown(&stage)).await?;
    steps.step("helm upgrade to a release with that field", install::upgrade(&stage)).await?;
    steps.step("the field is kept", install::known(&stage)).await?;
    steps.step("a job in a Pod of its own", pod::scores(&stage)).await?;
    steps.step("a job whose Pod is killed is tried again", pod::again(&stage)).await?;
    steps.step("a job that takes too long ends", pod::late(&stage)).await?;
    steps.step("a job that is deleted, suspended or cancelled frees its Pod", pod::stopped(&stage)).await?;
    training::learn(&stage, steps).await?;
    steps.step("scale to two workers", pool::scale(&stage)).await?;
    steps.step("pause the node and resume it", pool::pause(&stage)).await?;
    steps.step("restart everything under load", restart::everything(&stage)).await?;
    steps.step("helm uninstall keeps definitions, resources and data", install::uninstall(&stage)).await?;
    steps.step("helm install finds them again", install::again(&stage)).await?;
    steps.step("leave the cluster as it was", install::leave(&stage)).await
}
