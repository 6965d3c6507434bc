//! Which program comes from which package of which pinned Go module.
//!
//! Versions are stated once, in `go/*/go.mod`, and read from there. The module files are compiled into this crate, so
//! that a build needs no checkout.

use std::env::consts;

use sha2::{Digest, Sha256};

use crate::hex::hex;

/// A program of the cluster, or a server that tests need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    Etcd,
    KubeApiserver,
    KubeControllerManager,
    KubeScheduler,
    Kubelet,
    KubeProxy,
    Kubectl,
    Containerd,
    ContainerdShim,
    Ctr,
    CoreDns,
    /// The program of the sandbox image, and a small network probe for tests.
    Pause,
    /// An independent gRPC client.
    Grpcurl,
    /// Serves S3 and HTTP, and is a client for other protocols.
    Rclone,
    Registry,
    Helm,
    /// Enforces `NetworkPolicies`.
    NetworkPolicies,
    /// Of the oldest release of Kubernetes that we support.
    OldestKubeApiserver,
    OldestKubeControllerManager,
}

/// A Go module in `go/`, with the files that its build needs.
struct GoModule {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! module {
    ($name:literal: $($file:literal),+) => {
        GoModule { name: $name, files: &[$(($file, include_str!(concat!("../../../go/", $name, "/", $file)))),+] }
    };
}

static KUBERNETES: GoModule = module!("kubernetes": "go.mod", "go.sum");
static KUBERNETES_OLDEST: GoModule = module!("kubernetes-oldest": "go.mod", "go.sum");
static CONTAINERD: GoModule = module!("containerd": "go.mod", "go.sum");
static COREDNS: GoModule = module!("coredns": "go.mod", "go.sum");
static PAUSE: GoModule = module!("pause": "go.mod", "main.go");
static RCLONE: GoModule = module!("rclone": "go.mod", "go.sum", "main.go");
static REGISTRY: GoModule = module!("registry": "go.mod", "go.sum", "main.go");
static GRPCURL: GoModule = module!("grpcurl": "go.mod", "go.sum");
static HELM: GoModule = module!("helm": "go.mod", "go.sum");
static NETWORK_POLICIES: GoModule = module!("network-policies": "go.mod", "go.sum");

impl GoModule {
    /// The version of a required module in `go.mod`.
    fn version_of(&self, required: &str) -> Option<&'static str> {
        let go_mod = self.files.iter().find(|(name, _)| *name == "go.mod")?.1;
        go_mod.lines().find_map(|line| {
            let mut words = line.split_whitespace().skip_while(|word| *word == "require");
            (words.next() == Some(required)).then(|| words.next())?.filter(|word| word.starts_with('v'))
        })
    }
}

impl Binary {
    /// A control plane without Pods, and the client for it.
    pub const CONTROL_PLANE: [Self; 3] = [Self::Etcd, Self::KubeApiserver, Self::Kubectl];

    /// Every program of the cluster.
    pub const CLUSTER: [Self; 12] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kubelet,
        Self::KubeProxy,
        Self::Kubectl,
        Self::Containerd,
        Self::ContainerdShim,
        Self::Ctr,
        Self::CoreDns,
        Self::Pause,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver | Self::OldestKubeApiserver => "kube-apiserver",
            Self::KubeControllerManager | Self::OldestKubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Kubectl => "kubectl",
            Self::Containerd => "containerd",
            Self::ContainerdShim => "containerd-shim-runc-v2",
            Self::Ctr => "ctr",
            Self::CoreDns => "coredns",
            Self::Pause => "pause",
            Self::Rclone => "rclone",
            Self::Registry => "registry",
            Self::Grpcurl => "grpcurl",
            Self::Helm => "helm",
            Self::NetworkPolicies => "kube-network-policies",
        }
    }

    pub fn version(self) -> &'static str {
        // The pause program has no version: the digest in its cache key identifies it.
        self.module().version_of(self.versioned_by()).unwrap_or("v0")
    }

    /// The Go package of its `main`.
    pub(super) const fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::KubeApiserver | Self::OldestKubeApiserver => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::KubeControllerManager | Self::OldestKubeControllerManager => {
                "k8s.io/kubernetes/cmd/kube-controller-manager"
            }
            Self::KubeScheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::Kubelet => "k8s.io/kubernetes/cmd/kubelet",
            Self::KubeProxy => "k8s.io/kubernetes/cmd/kube-proxy",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::Containerd => "github.com/containerd/containerd/v2/cmd/containerd",
            Self::ContainerdShim => "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
            Self::Ctr => "github.com/containerd/containerd/v2/cmd/ctr",
            Self::CoreDns => "github.com/coredns/coredns",
            Self::Pause | Self::Rclone | Self::Registry => ".",
            Self::Grpcurl => "github.com/fullstorydev/grpcurl/cmd/grpcurl",
            Self::Helm => "helm.sh/helm/v3/cmd/helm",
            Self::NetworkPolicies => "sigs.k8s.io/kube-network-policies/cmd/kube-network-policies/standard",
        }
    }

    /// The linker flags. Without the version the API server reports `v0.0.0-master`, and clients that check it
    /// misbehave.
    pub(super) fn ldflags(self) -> String {
        let stripped = "-s -w";
        match self.versioned_by() {
            "k8s.io/kubernetes" => {
                format!("{stripped} -X k8s.io/component-base/version.gitVersion={}", self.version())
            }
            "github.com/containerd/containerd/v2" => {
                format!(
                    "{stripped} -X github.com/containerd/containerd/v2/version.Version={}",
                    self.version()
                )
            }
            "github.com/fullstorydev/grpcurl" => format!("{stripped} -X main.version={}", self.version()),
            "helm.sh/helm/v3" => format!("{stripped} {}", self.helm_versions()),
            _ => stripped.to_owned(),
        }
    }

    /// Helm's own version, and the Kubernetes version that it renders for by default: ours.
    fn helm_versions(self) -> String {
        let minor = Self::KubeApiserver.version().split('.').nth(1).unwrap_or_default();
        let kubernetes = ["pkg/lint/rules", "pkg/chartutil"].map(|package| {
            let variable = format!("-X helm.sh/helm/v3/{package}.k8sVersion");
            format!("{variable}Major=1 {variable}Minor={minor}")
        });
        let version = self.version();
        format!("-X helm.sh/helm/v3/internal/version.version={version} {}", kubernetes.join(" "))
    }

    /// The name of its directory in the cache: module, version, and a digest of the inputs of the build.
    ///
    /// The Go version is left out on purpose: a newer compiler does not justify a rebuild of ten minutes.
    pub(super) fn cache_key(self) -> String {
        let module = self.module();
        let mut digest = Sha256::new();
        for (name, content) in module.files {
            digest.update(name);
            digest.update([0]);
            digest.update(content);
            digest.update([0]);
        }
        digest.update(self.ldflags());
        let digest = hex(&digest.finalize()[..6]);
        format!("{}-{}-{}-{}-{digest}", module.name, self.version(), consts::OS, consts::ARCH)
    }

    pub(super) fn module_files(self) -> &'static [(&'static str, &'static str)] {
        self.module().files
    }

    fn module(self) -> &'static GoModule {
        match self {
            Self::Containerd | Self::ContainerdShim | Self::Ctr => &CONTAINERD,
            Self::CoreDns => &COREDNS,
            Self::Pause => &PAUSE,
            Self::Rclone => &RCLONE,
            Self::Registry => &REGISTRY,
            Self::Grpcurl => &GRPCURL,
            Self::Helm => &HELM,
            Self::NetworkPolicies => &NETWORK_POLICIES,
            Self::OldestKubeApiserver | Self::OldestKubeControllerManager => &KUBERNETES_OLDEST,
            _ => &KUBERNETES,
        }
    }

    /// The required module whose version is the program's version.
    pub(super) const fn versioned_by(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::Containerd | Self::ContainerdShim | Self::Ctr => "github.com/containerd/containerd/v2",
            Self::CoreDns => "github.com/coredns/coredns",
            Self::Pause => "vmafx.dev/testkit/pause",
            Self::Rclone => "github.com/rclone/rclone",
            Self::Registry => "github.com/distribution/distribution/v3",
            Self::Grpcurl => "github.com/fullstorydev/grpcurl",
            Self::Helm => "helm.sh/helm/v3",
            Self::NetworkPolicies => "sigs.k8s.io/kube-network-policies",
            _ => "k8s.io/kubernetes",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all() -> impl Iterator<Item = Binary> {
        let others = [
            Binary::Rclone,
            Binary::Registry,
            Binary::Grpcurl,
            Binary::Helm,
            Binary::NetworkPolicies,
            Binary::OldestKubeApiserver,
            Binary::OldestKubeControllerManager,
        ];
        Binary::CLUSTER.into_iter().chain(others)
    }

    #[test]
    fn every_program_but_our_own_has_a_version_pinned_in_its_go_mod() {
        for binary in all() {
            let pinned = binary.module().version_of(binary.versioned_by());
            assert_eq!(pinned.is_some(), binary != Binary::Pause, "{binary:?}");
        }
    }

    #[test]
    fn every_program_is_a_tool_of_its_go_mod_so_that_go_sum_covers_it() {
        // Modules with a `main.go` import what they need.
        for binary in all().filter(|binary| binary.package() != ".") {
            let go_mod = binary.module_files()[0].1;
            let listed =
                go_mod.lines().any(|line| line.trim().trim_start_matches("tool ") == binary.package());
            assert!(listed, "{} is not a tool in go.mod", binary.package());
        }
    }

    #[test]
    fn the_api_server_carries_its_version() {
        let version = Binary::KubeApiserver.version();
        assert!(version.starts_with("v1."), "{version}");
        assert!(Binary::KubeApiserver.ldflags().ends_with(&format!("gitVersion={version}")));
    }

    #[test]
    fn programs_of_different_flags_or_modules_do_not_share_a_directory() {
        let keys: BTreeSet<_> = all().map(Binary::cache_key).collect();
        // etcd (no version flag), the Kubernetes programs of each release, containerd's three, and each of the others.
        assert_eq!(keys.len(), 11, "{keys:?}");
        assert!(keys.iter().all(|key| key.rsplit('-').next().is_some_and(|digest| digest.len() == 12)));
    }
}
