//! The life of a release from the user's point of view.
//!
//! | file        | shows                                                                                        |
//! |-------------|----------------------------------------------------------------------------------------------|
//! | `install`   | an older release is installed, upgraded to this one, uninstalled, and installed again        |
//! | `queue`     | jobs of the queue: a file, an object store, resources that are rejected                      |
//! | `dashboard` | `kubectl vmafx dashboard` shows the jobs to whom it signed in, and to nobody else               |
//! | `pod`       | jobs with `execution: Pod`: retried, past their deadline, deleted, suspended, cancelled      |
//! | `training`  | a model learns from labelled jobs and scores the next one                                    |
//! | `pool`      | workers start, scale, pause and resume                                                       |
//! | `workload`  | a StatefulSet is adopted, recreated and replaced; a stopped agent is unhealthy               |
//! | `restart`   | everything is restarted while jobs run, and no job is lost                                   |

mod dashboard;
mod fixture;
mod install;
mod pod;
mod pool;
mod queue;
mod restart;
mod training;
mod workload;

use anyhow::Result;

use self::fixture::UserFixture;
use crate::platform::Platform;
use crate::steps::Steps;

/// Installs, scores, trains, scales, upgrades, restarts, uninstalls, reinstalls, and removes everything.
pub async fn user(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let fixture =
        steps.step("a namespace, clips and external services", UserFixture::set_up(platform)).await?;
    steps.step("helm install of an older release", install::install_older(&fixture)).await?;
    steps.step("register a node", pool::register(&fixture)).await?;
    steps.step("a job with files", queue::files(&fixture)).await?;
    steps.step("the dashboard opens by kubectl vmafx", dashboard::opens(&fixture)).await?;
    steps.step("a job with s3:// and credentials in a Secret", queue::objects(&fixture)).await?;
    steps.step("invalid resources are rejected", queue::refused(&fixture)).await?;
    steps
        .step(
            "a field that the older release does not know is dropped",
            install::drops_unknown_field(&fixture),
        )
        .await?;
    steps.step("helm upgrade to a release with that field", install::upgrade(&fixture)).await?;
    steps.step("the field is kept", install::keeps_known_field(&fixture)).await?;
    steps.step("a job with execution: Pod", pod::scores(&fixture)).await?;
    steps.step("a job whose Pod is deleted is retried", pod::retried(&fixture)).await?;
    steps.step("a job past its deadline fails", pod::deadline_exceeded(&fixture)).await?;
    steps.step("a job that is deleted, suspended or cancelled frees its Pod", pod::stopped(&fixture)).await?;
    training::run(&fixture, steps).await?;
    steps.step("scale to two workers", pool::scale(&fixture)).await?;
    steps.step("pause the node and resume it", pool::pause(&fixture)).await?;
    steps.step("the StatefulSet of a deleted node is adopted", workload::adopted(&fixture)).await?;
    steps.step("a deleted StatefulSet is recreated", workload::recreated(&fixture)).await?;
    steps.step("a copy of the StatefulSet is replaced", workload::impostor_replaced(&fixture)).await?;
    steps.step("a stopped agent makes its node unhealthy", workload::stale_heartbeat(&fixture)).await?;
    steps.step("restart everything under load", restart::everything(&fixture)).await?;
    steps.step("helm uninstall keeps definitions, resources and data", install::uninstall(&fixture)).await?;
    steps.step("helm install finds them again", install::reinstall(&fixture)).await?;
    steps.step("leave the cluster as it was", install::clean_up(&fixture)).await
}
