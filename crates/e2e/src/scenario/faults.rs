//! Faults under load: everything that runs is struck, and every job ends once, with the score of its pair.
//!
//! Two operators, two controllers on Postgres and three nodes, with tokens checked and budgets for disruptions. Leases
//! are short, so that what waits for their end does not wait for long.
//!
//! | file         | does                                                                                  |
//! |--------------|---------------------------------------------------------------------------------------|
//! | `account`    | pure: what was asked for against what came of it                                      |
//! | `chance`     | pure: who is struck, and how                                                          |
//! | `logs`       | pure: what nodes say of their reports                                                 |
//! | `diary`      | where jobs were seen to stand                                                         |
//! | `queue`      | jobs and attempts, as the database has them                                           |
//! | `ground`     | the release, jobs for it, and the account of everything so far                        |
//! | `strike`     | 500 jobs while Pods of all kinds are deleted and killed                               |
//! | `controller` | one of two controllers dies while nodes ask it for work                               |
//! | `drain`      | the Kubernetes node is emptied by evictions                                           |
//! | `cut`        | a node and the controllers do not hear each other for longer than a lease             |
//! | `scratch`    | a clip is larger than the volume for clips                                            |

mod account;
mod chance;
mod controller;
mod cut;
mod diary;
mod drain;
mod ground;
mod logs;
mod queue;
mod scratch;
mod strike;

use anyhow::Result;

use self::ground::Ground;
use crate::platform::Platform;
use crate::steps::Steps;

/// Strikes, and takes account.
pub async fn faults(platform: &Platform, steps: &mut Steps) -> Result<()> {
    let set_up = Ground::lay(platform);
    let mut ground =
        steps.step("faults: two operators, two controllers on Postgres, three nodes", set_up).await?;
    strike::play(&mut ground, steps).await?;
    steps.step("faults: one of two controllers is killed", controller::play(&mut ground)).await?;
    steps.step("faults: the node is drained", drain::play(&mut ground)).await?;
    steps.step("faults: a node is cut off for longer than a lease", cut::play(&mut ground)).await?;
    steps.step("faults: a clip does not fit the scratch volume", scratch::play(&mut ground)).await?;
    steps.step("faults: uninstall", ground.clear()).await
}
