//! A cluster with everything that a release needs, but without a release.

mod explain;
mod namespace;
mod webhook;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use vmafx_testkit::kube::WholeNode;
use vmafx_testkit::kube::assets::{self, Binary};
use vmafx_testkit::kube::node::RoleLauncher;

use crate::clips::Clips;
use crate::external::ExternalServices;
use crate::helm::Helm;
use crate::images::Images;
use crate::kubectl::Kubectl;
use crate::values::merge_values;
use crate::volume::Volume;

/// Timeout of a single wait: images are unpacked, unoptimised programs start, and probes have their periods.
pub const STEP_TIMEOUT: Duration = Duration::from_mins(3);

/// A cluster with the images loaded, clips, and external services. It stops when this is dropped.
pub struct Platform {
    // Dropped before the cluster, because the routes to these services end in its network.
    external: OnceCell<ExternalServices>,
    clips: Clips,
    client: Client,
    kubectl: Kubectl,
    helm: Helm,
    images: Images,
    cluster: WholeNode,
    _home: tempfile::TempDir,
}

impl Platform {
    /// Starts a cluster whose files are below `base`.
    pub async fn start(base: &Path, images: &Images) -> Result<Self> {
        let archives = images.archives()?;
        let tools =
            tokio::task::spawn_blocking(|| assets::ensure(&[Binary::Kubectl, Binary::Helm])).await??;
        // Not the running program: a build in the meantime may have replaced it.
        let launcher = RoleLauncher::new(images.program("testkit-helper"), &["role"]);
        let cluster = WholeNode::start(base, &launcher).await.context("cannot start a whole node")?;
        load(&cluster, &archives)?;
        let clips = Clips::write(volume(&cluster, "clips"), images.program("vmafx"))?;
        let home = tempfile::Builder::new().prefix("vmafx-e2e-").tempdir()?;
        let kubeconfig = cluster.kubeconfig_path();
        Ok(Self {
            external: OnceCell::new(),
            clips,
            client: cluster.client()?,
            kubectl: Kubectl::new(tools.path(Binary::Kubectl), kubeconfig),
            helm: Helm::new(tools.path(Binary::Helm), kubeconfig, home.path(), &Images::chart()),
            images: images.clone(),
            cluster,
            _home: home,
        })
    }

    pub fn kubectl(&self) -> Kubectl {
        self.kubectl.clone()
    }

    /// `helm` for this cluster, with the chart of this checkout.
    pub fn helm(&self) -> Helm {
        self.helm.clone()
    }

    /// A client with all permissions.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    pub fn clips(&self) -> &Clips {
        &self.clips
    }

    /// External services, which the first call starts.
    pub async fn external_services(&self) -> Result<&ExternalServices> {
        let start = async || {
            Box::pin(ExternalServices::start(&self.cluster))
                .await
                .context("cannot start the external services")
        };
        self.external.get_or_try_init(start).await
    }

    pub fn images(&self) -> &Images {
        &self.images
    }

    pub fn cluster(&self) -> &WholeNode {
        &self.cluster
    }

    /// Leaves the cluster running when this program exits. External services stop.
    pub fn detach(self) -> Result<()> {
        Ok(self.cluster.detach()?)
    }

    /// Loads further images.
    pub fn load(&self, images: &Images) -> Result<()> {
        load(&self.cluster, &images.archives()?)
    }

    /// The values that every release on this platform needs, merged with `more`.
    pub fn values(&self, more: Value) -> Value {
        self.values_with(&self.images, more)
    }

    /// The same for a release with other images.
    pub fn values_with(&self, images: &Images, more: Value) -> Value {
        let roots = json!([Clips::ROOT]);
        let common = json!({
            "operator": { "enabled": true, "scoringRoots": roots },
            "controller": { "scoringRoots": roots },
        });
        merge_values(merge_values(images.values(), common), more)
    }
}

fn load(cluster: &WholeNode, archives: &[PathBuf]) -> Result<()> {
    for archive in archives {
        cluster.load_image(archive).with_context(|| format!("cannot load {}", archive.display()))?;
    }
    Ok(())
}

fn volume(cluster: &WholeNode, name: &str) -> Volume {
    let [host_path, node_path] = cluster.volume(name);
    Volume { host_path, node_path }
}
