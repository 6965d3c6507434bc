//! Faults under load: every component is killed or cut off, and every job still ends once, with the score of its pair.
//!
//! The release has two operators, two controllers on Postgres and three nodes, with authentication and disruption budgets.
//! Leases are short, so that expiry does not take long.
//!
//! | file         | does                                                                                  |
//! |--------------|---------------------------------------------------------------------------------------|
//! | `verify`     | pure: compares the requested jobs with their outcomes                                 |
//! | `plan`       | pure: which Pods get which fault                                                      |
//! | `logs`       | pure: reads from the nodes' logs which reports were accepted                          |
//! | `history`    | records the phases of jobs                                                            |
//! | `queue`      | reads jobs and attempts from the database                                             |
//! | `fixture`    | installs the release, creates jobs and verifies them                                  |
//! | `inject`     | 500 jobs while Pods of all roles are deleted and killed                               |
//! | `controller` | one of two controllers is killed while nodes pull jobs from it                        |
//! | `drain`      | the Kubernetes node is drained                                                        |
//! | `partition`  | a node and the controllers cannot reach each other for longer than a lease            |
//! | `scratch`    | a clip is larger than the scratch volume                                              |

mod controller;
mod drain;
mod fixture;
mod history;
mod inject;
mod logs;
mod partition;
mod plan;
mod queue;
mod scratch;
mod verify;

use anyhow::Result;

use self::fixture::FaultFixture;
use crate::platform::Platform;
use crate::steps::Steps;

pub async fn faults(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let set_up = FaultFixture::set_up(platform);
    let mut fixture =
        steps.step("faults: two operators, two controllers on Postgres, three nodes", set_up).await?;
    inject::run(&mut fixture, steps).await?;
    steps.step("faults: one of two controllers is killed", controller::run(&mut fixture)).await?;
    steps.step("faults: the node is drained", drain::run(&mut fixture)).await?;
    steps.step("faults: a node is partitioned for longer than a lease", partition::run(&mut fixture)).await?;
    steps.step("faults: a clip does not fit the scratch volume", scratch::run(&mut fixture)).await?;
    steps.step("faults: uninstall", fixture.tear_down()).await
}
