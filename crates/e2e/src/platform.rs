//! A cluster with everything that a release needs, and no release yet.

mod explain;
mod namespace;
mod webhook;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use vmafx_testkit::kube::WholeNode;
use vmafx_testkit::kube::assets::{self, Binary};
use vmafx_testkit::kube::node::RoleLauncher;

use crate::clips::Clips;
use crate::helm::Helm;
use crate::images::Images;
use crate::kubectl::Kubectl;
use crate::outside::Outside;
use crate::release::merged;
use crate::volume::Volume;

/// For one thing to come: images are unpacked, programs without optimisation start, probes have their periods.
pub const PATIENCE: Duration = Duration::from_mins(3);

/// A cluster with the images loaded, clips, and services outside of it. It ends when this is dropped.
pub struct Platform {
    // Before the cluster, in whose network their ways begin.
    outside: OnceCell<Outside>,
    clips: Clips,
    client: Client,
    kubectl: Kubectl,
    helm: Helm,
    images: Images,
    cluster: WholeNode,
    _home: tempfile::TempDir,
}

impl Platform {
    /// Starts one whose files are below `base`.
    pub async fn start(base: &Path, images: &Images) -> Result<Self> {
        let archives = images.archives()?;
        let tools =
            tokio::task::spawn_blocking(|| assets::ensure(&[Binary::Kubectl, Binary::Helm])).await??;
        // Not the running program: a build that comes meanwhile may have put another one in its place.
        let launcher = RoleLauncher::new(images.program("testkit-helper"), &["role"]);
        let cluster = WholeNode::start(base, &launcher).await.context("a whole node")?;
        for archive in archives {
            cluster.load_image(&archive).with_context(|| format!("load {}", archive.display()))?;
        }
        let clips = Clips::write(volume(&cluster, "clips"), images.program("vmafx"))?;
        let home = tempfile::Builder::new().prefix("vmafx-e2e-").tempdir()?;
        let kubeconfig = cluster.kubeconfig_path();
        Ok(Self {
            outside: OnceCell::new(),
            clips,
            client: cluster.client()?,
            kubectl: Kubectl::new(tools.path(Binary::Kubectl), kubeconfig),
            helm: Helm::new(tools.path(Binary::Helm), kubeconfig, home.path(), &Images::chart()),
            images: images.clone(),
            cluster,
            _home: home,
        })
    }

    /// `kubectl` for this cluster.
    pub fn kubectl(&self) -> Kubectl {
        self.kubectl.clone()
    }

    /// `helm` for this cluster, with the chart of this checkout.
    pub fn helm(&self) -> Helm {
        self.helm.clone()
    }

    /// A client that may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Clips that Pods can read.
    pub fn clips(&self) -> &Clips {
        &self.clips
    }

    /// Services outside of the cluster, started when they are first asked for.
    pub async fn outside(&self) -> Result<&Outside> {
        let start =
            async || Box::pin(Outside::start(&self.cluster)).await.context("services outside of the cluster");
        self.outside.get_or_try_init(start).await
    }

    /// The images that are loaded.
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// The cluster itself.
    pub fn cluster(&self) -> &WholeNode {
        &self.cluster
    }

    /// Lets the cluster run on when this program ends. Services outside of it end.
    pub fn detach(self) -> Result<()> {
        Ok(self.cluster.detach()?)
    }

    /// What every release here needs to be told, and `more`. Tokens are checked.
    pub fn values(&self, more: Value) -> Value {
        let roots = json!([Clips::ROOT]);
        let here = json!({
            "operator": { "enabled": true, "scoringRoots": roots },
            "controller": { "scoringRoots": roots },
        });
        merged(merged(self.images.values(), here), more)
    }
}

fn volume(cluster: &WholeNode, name: &str) -> Volume {
    let [here, on_node] = cluster.volume(name);
    Volume { here, on_node }
}
