//! What users and accidents do to a node, from a state at rest to the next one.

use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use serde_json::json;
use vmafx_testkit::wait;

use super::{SLOW, Wanted, World};
use crate::SOON;

const OTHER_IMAGE: &str = "registry.test/vmafx-node:2";

/// A flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// A node is made.
    Create,
    /// Its workers are taken away.
    Pause,
    /// Its workers return.
    Resume,
    /// Its workers get another image.
    Image,
    /// Its StatefulSet is deleted by somebody.
    Recreate,
    /// Its StatefulSet is deleted, and another of that name made, by somebody.
    Impostor,
    /// The node is deleted.
    Delete,
}

impl Flow {
    /// In an order in which each begins where the one before has ended.
    pub(crate) const ALL: [Self; 7] =
        [Self::Create, Self::Pause, Self::Resume, Self::Recreate, Self::Impostor, Self::Image, Self::Delete];

    /// How many objects have to be deleted for it: impostors only. What is ours and good never is.
    pub(crate) fn deletions(self) -> usize {
        usize::from(self == Self::Impostor)
    }

    /// Up to the state of rest that it begins from.
    pub(crate) async fn arrange(self, world: &World, name: &str) {
        if self == Self::Create {
            return;
        }
        world.create(name).await;
        world.settled(name, Wanted::default()).await;
        if self == Self::Resume {
            world.change(name, json!({"paused": true})).await;
            world.settled(name, Wanted { replicas: 0, paused: true, ..Wanted::default() }).await;
        }
    }

    /// What somebody does.
    pub(crate) async fn begin(self, world: &World, name: &str) {
        match self {
            Self::Create => world.create(name).await,
            Self::Pause => world.change(name, json!({"paused": true})).await,
            Self::Resume => world.change(name, json!({"paused": false})).await,
            Self::Image => world.change(name, json!({"image": OTHER_IMAGE})).await,
            Self::Recreate => delete(world, name).await,
            Self::Impostor => usurp(world, name).await,
            Self::Delete => {
                world.nodes().delete(name, &DeleteParams::background()).await.unwrap();
            }
        }
    }

    /// Waits for the state of rest that it ends in. `before` is the UID of the StatefulSet before it began.
    pub(crate) async fn end(self, world: &World, name: &str, before: Option<&str>) {
        let wanted = match self {
            Self::Create | Self::Resume | Self::Recreate | Self::Impostor => Wanted::default(),
            Self::Pause => Wanted { replicas: 0, paused: true, ..Wanted::default() },
            Self::Image => Wanted { image: OTHER_IMAGE, ..Wanted::default() },
            Self::Delete => return gone(world, name).await,
        };
        if matches!(self, Self::Recreate | Self::Impostor) {
            return world.settled_on_another(name, wanted, before).await;
        }
        world.settled(name, wanted).await;
        if self != Self::Create {
            assert_eq!(world.uid_of(name).await.as_deref(), before, "{name}: a good StatefulSet was deleted");
        }
    }
}

async fn delete(world: &World, name: &str) {
    let child = format!("vmafx-node-{name}");
    world.sets().delete(&child, &DeleteParams::background()).await.unwrap();
}

/// Puts another StatefulSet in the place of ours, one that selects the same Pods and that nobody owns. The operator may
/// make one of its own in between; then it is tried again.
async fn usurp(world: &World, name: &str) {
    let ours = world.set_of(name).await.unwrap();
    let metadata = ObjectMeta {
        name: ours.metadata.name.clone(),
        labels: ours.metadata.labels.clone(),
        ..ObjectMeta::default()
    };
    let impostor = StatefulSet { metadata, spec: ours.spec.clone(), status: None };
    let held = world.proxy.hold_events("statefulsets");
    wait::until(SOON, "an impostor", async || {
        delete(world, name).await;
        world.sets().create(&PostParams::default(), &impostor).await
    })
    .await
    .unwrap();
    drop(held);
}

/// With everything that belonged to it.
async fn gone(world: &World, name: &str) {
    let what = format!("{name} to be gone");
    wait::until(SLOW, &what, async || world.look().await?.is_gone(name)).await.unwrap();
}
