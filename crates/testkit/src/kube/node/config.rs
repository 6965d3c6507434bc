//! The configuration files of a node's servers. JSON is used for YAML, too.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::super::kubeconfig::CONTEXT;
use super::super::pki::Identity;
use super::super::probe;
use super::network::{NODE_ADDRESS, POD_CIDR};

/// The image of every Pod's sandbox.
pub(super) const SANDBOX_IMAGE: &str = "localhost/vmafx-pause:1";
/// In the `/run` that only the cluster sees.
pub(super) const CONTAINERD_SOCKET: &str = "/run/containerd/containerd.sock";

pub(super) fn write(
    directory: &Path,
    cgroup_root: &str,
    kubelet: &Identity,
    overlay: bool,
) -> io::Result<()> {
    let at = |name: &str| directory.join(name);
    let json = |name: &str, value: Value| fs::write(at(name), value.to_string());
    fs::create_dir_all(at("cni"))?;
    json("cni/10-vmafx.conflist", network(directory))?;
    fs::write(at("containerd.toml"), containerd(directory, overlay))?;
    fs::write(at("resolv.conf"), format!("nameserver {NODE_ADDRESS}\n"))?;
    json("kubelet.json", self::kubelet(directory, cgroup_root, kubelet))?;
    json("kube-proxy.json", proxy(directory))?;
    fs::write(at("Corefile"), corefile(directory))
}

/// There is no `ipMasq` and no port mapping: both would need iptables, and there is no external network.
fn network(directory: &Path) -> Value {
    json!({
        "cniVersion": "1.0.0",
        "name": "vmafx",
        "plugins": [{
            "type": "ptp",
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": POD_CIDR, "gateway": NODE_ADDRESS}]],
                // Without this route a Pod can reach no Service.
                "routes": [{"dst": "0.0.0.0/0"}],
                "dataDir": directory.join("addresses"),
            },
        }],
    })
}

fn containerd(directory: &Path, overlay: bool) -> String {
    let directory = directory.display();
    let plugins = probe::plugin_directory().unwrap_or_default();
    let snapshotter = if overlay { "overlayfs" } else { "native" };
    format!(
        r#"version = 3
root = "{directory}/containerd"
state = "/run/containerd"

[grpc]
address = "{CONTAINERD_SOCKET}"

[plugins."io.containerd.internal.v1.opt"]
path = "{directory}/opt"

[plugins."io.containerd.cri.v1.images"]
snapshotter = "{snapshotter}"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{SANDBOX_IMAGE}"

[plugins."io.containerd.cri.v1.runtime"]
# Without the capability to lower oom_score_adj, as in many containers, runc would fail to start anything.
restrict_oom_score_adj = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{plugins}"]
conf_dir = "{directory}/cni"
"#
    )
}

fn kubelet(directory: &Path, cgroup_root: &str, identity: &Identity) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": directory.join("ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": identity.certificate,
        "tlsPrivateKeyFile": identity.key,
        "containerRuntimeEndpoint": format!("unix://{CONTAINERD_SOCKET}"),
        "clusterDNS": [NODE_ADDRESS],
        "clusterDomain": "cluster.local",
        // The host's file may be a link into the /run that is hidden here.
        "resolvConf": directory.join("resolv.conf"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{cgroup_root}"),
        "failCgroupV1": false,
        "failSwapOn": false,
        // The default directories would be on the host.
        "podLogsDir": directory.join("log/pods"),
        "volumePluginDir": directory.join("volume-plugins"),
        // Loaded images cannot be pulled again, so they must not be collected when the disk is full.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "100Mi"},
    })
}

fn proxy(directory: &Path) -> Value {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": POD_CIDR,
        "clientConnection": {"kubeconfig": directory.join("inside.kubeconfig")},
        "healthzBindAddress": "127.0.0.1:10256",
        // These limits belong to the host and cannot be set in a namespace.
        "conntrack": {"maxPerCore": 0},
    })
}

/// Nothing is forwarded: there is no external network.
fn corefile(directory: &Path) -> String {
    let kubeconfig = directory.join("inside.kubeconfig");
    let kubeconfig = kubeconfig.display();
    format!(
        ".:53 {{
  bind {NODE_ADDRESS}
  errors
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {kubeconfig} {CONTEXT}
    ttl 1
  }}
}}
"
    )
}
