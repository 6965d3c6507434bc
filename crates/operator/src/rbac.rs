//! The operator's permissions, in one table.
//!
//! `make manifests` writes `config/rbac` from it. Integration tests run the operator with exactly these permissions, and
//! one of them reads the API server's audit log: it fails if a permission was never used, or if a request was denied.

use serde_json::{Value, json};

use crate::cluster;
use crate::controller_tls::args::{CA_SECRET, CERT_SECRET};
use crate::controller_tls::{CA_CONFIG_MAP, CLIENT_SECRET};
use crate::controllers::{ReconciledKind, ReconciledKinds};
use crate::webhook::args;

/// A part of the operator that has a role of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorPart {
    All,
    Node,
    Job,
    Training,
    /// Nodes and trainings, the kinds that have a StatefulSet.
    Workload,
    Webhook,
    /// The controller's certificate.
    ControllerCertificate,
    /// The client certificates of workers and trainers.
    ClientCertificate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantScope {
    Cluster,
    /// The operator's own namespace.
    Own,
}

#[derive(Clone, Copy, Debug)]
pub struct RbacGrant {
    pub part: OperatorPart,
    pub scope: GrantScope,
    /// API group; empty for the core group.
    pub group: &'static str,
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
    /// Names of the objects; empty for all. A name cannot restrict `create`.
    pub names: &'static [&'static str],
}

/// Stands for the default name of the Lease, which is that of the kinds of the role. Another
/// `VMAFX_OPERATOR_LEADER_ELECTION_ID` needs another role.
const LEASE: &str = "LEASE";

const fn grant(
    part: OperatorPart,
    scope: GrantScope,
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
) -> RbacGrant {
    RbacGrant { part, scope, group, resource, verbs, names: &[] }
}

/// `patch` together with `create` is what server-side apply needs, which creates what does not exist.
pub const TABLE: &[RbacGrant] = &[
    // `delete` is for `ttlSecondsAfterFinished`.
    grant(
        OperatorPart::Job,
        GrantScope::Cluster,
        "vmafx.dev",
        "vmafxjobs",
        &["get", "list", "watch", "delete"],
    ),
    grant(OperatorPart::Job, GrantScope::Cluster, "vmafx.dev", "vmafxjobs/status", &["patch"]),
    // Required by the admission plugin OwnerReferencesPermissionEnforcement for owner references that block deletion.
    grant(OperatorPart::Job, GrantScope::Cluster, "vmafx.dev", "vmafxjobs/finalizers", &["update"]),
    // For jobs with `execution: Pod`.
    grant(
        OperatorPart::Job,
        GrantScope::Cluster,
        "batch",
        "jobs",
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    grant(OperatorPart::Job, GrantScope::Cluster, "", "pods", &["list", "watch"]),
    // Those of workers, trainers and jobs, in every namespace that has some.
    grant(
        OperatorPart::All,
        GrantScope::Cluster,
        "",
        "serviceaccounts",
        &["get", "list", "watch", "create", "patch"],
    ),
    // The UID of kube-system tells this cluster from others that use the same controller.
    RbacGrant {
        part: OperatorPart::Job,
        scope: GrantScope::Cluster,
        group: "",
        resource: "namespaces",
        verbs: &["get"],
        names: &[cluster::NAMESPACE],
    },
    // If each namespace is a tenant, the jobs of one whose resources are all gone are found by its name.
    grant(OperatorPart::Job, GrantScope::Cluster, "", "namespaces", &["list"]),
    grant(OperatorPart::Node, GrantScope::Cluster, "vmafx.dev", "vmafxnodes", &["get", "list", "watch"]),
    grant(OperatorPart::Node, GrantScope::Cluster, "vmafx.dev", "vmafxnodes/status", &["patch"]),
    grant(OperatorPart::Node, GrantScope::Cluster, "vmafx.dev", "vmafxnodes/finalizers", &["update"]),
    grant(
        OperatorPart::Training,
        GrantScope::Cluster,
        "vmafx.dev",
        "vmafxmodeltrainings",
        &["get", "list", "watch"],
    ),
    grant(OperatorPart::Training, GrantScope::Cluster, "vmafx.dev", "vmafxmodeltrainings/status", &["patch"]),
    grant(
        OperatorPart::Training,
        GrantScope::Cluster,
        "vmafx.dev",
        "vmafxmodeltrainings/finalizers",
        &["update"],
    ),
    grant(
        OperatorPart::Workload,
        GrantScope::Cluster,
        "apps",
        "statefulsets",
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    grant(
        OperatorPart::Workload,
        GrantScope::Cluster,
        "",
        "services",
        &["get", "list", "watch", "create", "patch"],
    ),
    grant(
        OperatorPart::Node,
        GrantScope::Cluster,
        "policy",
        "poddisruptionbudgets",
        &["get", "list", "watch", "create", "patch"],
    ),
    // The authorities by which Pods verify the controller. A name restricts the creation too, because it is an apply.
    RbacGrant {
        part: OperatorPart::Workload,
        scope: GrantScope::Cluster,
        group: "",
        resource: "configmaps",
        verbs: &["get", "create", "patch"],
        names: &[CA_CONFIG_MAP],
    },
    // Needed only if the operator issues client certificates. Its name restricts the creation in the same way.
    RbacGrant {
        part: OperatorPart::ClientCertificate,
        scope: GrantScope::Cluster,
        group: "",
        resource: "secrets",
        verbs: &["get", "create", "patch"],
        names: &[CLIENT_SECRET],
    },
    grant(OperatorPart::All, GrantScope::Cluster, "events.k8s.io", "events", &["create"]),
    grant(OperatorPart::All, GrantScope::Own, "coordination.k8s.io", "leases", &["create"]),
    RbacGrant {
        part: OperatorPart::All,
        scope: GrantScope::Own,
        group: "coordination.k8s.io",
        resource: "leases",
        verbs: &["get", "update"],
        names: &[LEASE],
    },
    // Not needed with mounted certificates. Both objects are read once a minute and not watched.
    grant(OperatorPart::Webhook, GrantScope::Own, "", "secrets", &["create"]),
    RbacGrant {
        part: OperatorPart::Webhook,
        scope: GrantScope::Own,
        group: "",
        resource: "secrets",
        verbs: &["get", "update"],
        names: &[args::SECRET],
    },
    // Not needed if another authority signs the controller's certificate. The names of the chart differ if the
    // release does.
    grant(OperatorPart::ControllerCertificate, GrantScope::Own, "", "secrets", &["create"]),
    RbacGrant {
        part: OperatorPart::ControllerCertificate,
        scope: GrantScope::Own,
        group: "",
        resource: "secrets",
        verbs: &["get", "update"],
        names: &[CA_SECRET, CERT_SECRET],
    },
    // Whether the author of a resource may create Pods and read the Secrets that it names.
    grant(
        OperatorPart::Webhook,
        GrantScope::Cluster,
        "authorization.k8s.io",
        "subjectaccessreviews",
        &["create"],
    ),
    RbacGrant {
        part: OperatorPart::Webhook,
        scope: GrantScope::Cluster,
        group: "admissionregistration.k8s.io",
        resource: "validatingwebhookconfigurations",
        verbs: &["get", "patch"],
        names: &[args::CONFIGURATION],
    },
];

#[derive(Clone, Debug, PartialEq)]
pub struct RoleFile {
    /// File name below `config/rbac`.
    pub name: &'static str,
    pub objects: Vec<Value>,
}

pub fn files() -> Vec<RoleFile> {
    let all =
        RoleFile { name: "role.yaml", objects: roles("vmafx-operator", &ReconciledKind::ALL, |_| true) };
    let of_kind = ReconciledKind::ALL.into_iter().map(|kind| RoleFile {
        name: match kind {
            ReconciledKind::Job => "role_vmafxjob.yaml",
            ReconciledKind::Node => "role_vmafxnode.yaml",
            ReconciledKind::Training => "role_vmafxmodeltraining.yaml",
        },
        objects: roles(&format!("vmafx-operator-{}", kind.name()), &[kind], |part| part.is_of(kind)),
    });
    std::iter::once(all).chain(of_kind).collect()
}

/// Rules of the ClusterRole for this part alone.
pub fn cluster_rules_of(part: OperatorPart) -> Vec<Value> {
    let granted = TABLE.iter().filter(|grant| grant.scope == GrantScope::Cluster && grant.part == part);
    granted.map(|grant| rule(grant, "")).collect()
}

impl OperatorPart {
    /// Whether an operator for this kind alone has the part.
    const fn is_of(self, kind: ReconciledKind) -> bool {
        match self {
            Self::All => true,
            Self::Job => matches!(kind, ReconciledKind::Job),
            Self::Node => matches!(kind, ReconciledKind::Node),
            Self::Training => matches!(kind, ReconciledKind::Training),
            Self::Workload => matches!(kind, ReconciledKind::Node | ReconciledKind::Training),
            Self::Webhook | Self::ControllerCertificate | Self::ClientCertificate => false,
        }
    }
}

/// ClusterRole and Role of the parts that `includes` selects, for an operator of these kinds.
fn roles(name: &str, kinds: &[ReconciledKind], includes: impl Fn(OperatorPart) -> bool) -> Vec<Value> {
    let lease = ReconciledKinds::new(kinds).lease();
    let rules = |scope: GrantScope| -> Vec<Value> {
        let granted = TABLE.iter().filter(|grant| grant.scope == scope && includes(grant.part));
        granted.map(|grant| rule(grant, &lease)).collect()
    };
    let role = |kind: &str, scope: GrantScope| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": { "name": name },
            "rules": rules(scope),
        })
    };
    vec![role("ClusterRole", GrantScope::Cluster), role("Role", GrantScope::Own)]
}

fn rule(grant: &RbacGrant, lease: &str) -> Value {
    let mut rule = json!({
        "apiGroups": [grant.group],
        "resources": [grant.resource],
        "verbs": grant.verbs,
    });
    if !grant.names.is_empty() {
        let name = |name: &&str| if *name == LEASE { lease.to_owned() } else { (*name).to_owned() };
        rule["resourceNames"] = grant.names.iter().map(name).collect();
    }
    rule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_granted_by_a_star() {
        for grant in TABLE {
            assert!(!format!("{grant:?}").contains('*'), "{grant:?}");
        }
    }

    #[test]
    fn the_whole_role_is_the_sum_of_the_parts() {
        let count = |name: &str| {
            let files = files();
            let file = files.iter().find(|file| file.name == name).unwrap();
            file.objects.iter().map(|object| object["rules"].as_array().unwrap().len()).sum::<usize>()
        };
        assert_eq!(count("role.yaml"), TABLE.len());
        let mut parts = ["role_vmafxnode.yaml", "role_vmafxmodeltraining.yaml"].into_iter();
        assert!(parts.all(|part| count(part) < TABLE.len()));
    }
}
