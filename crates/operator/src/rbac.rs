//! What the operator may do, in one table.
//!
//! `make manifests` writes `config/rbac` from it, integration tests run the operator under exactly that, and one of them
//! reads the API server's audit log: what is granted and never used fails it, and so does what was refused.

use serde_json::{Value, json};

use crate::cluster;
use crate::webhook::args;

/// A part of the operator that has a role of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorPart {
    /// Every part.
    All,
    /// VmafxNode.
    Node,
    /// VmafxJob.
    Job,
    /// VmafxModelTraining.
    Training,
    /// Every kind that a StatefulSet runs for.
    Workload,
    /// The admission webhooks.
    Webhook,
}

/// Where a permission holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// In every namespace.
    Cluster,
    /// In the operator's own.
    Own,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct RbacGrant {
    /// Who needs it.
    pub part: OperatorPart,
    /// Where.
    pub scope: GrantScope,
    /// The API group; empty is the core.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// What may be done.
    pub verbs: &'static [&'static str],
    /// To these only; empty is all. A name cannot restrict `create`.
    pub names: &'static [&'static str],
}

/// The Lease, by its usual name: whoever sets `VMAFX_OPERATOR_LEADER_ELECTION_ID` changes the role too.
const LEASE: &str = "vmafx-operator.vmafx.dev";

const fn grant(
    part: OperatorPart,
    scope: GrantScope,
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
) -> RbacGrant {
    RbacGrant { part, scope, group, resource, verbs, names: &[] }
}

/// The table. `patch` with `create` is server-side apply, which makes what is not there.
pub const TABLE: &[RbacGrant] = &[
    // Deleted when their time after the end is over.
    grant(
        OperatorPart::Job,
        GrantScope::Cluster,
        "vmafx.dev",
        "vmafxjobs",
        &["get", "list", "watch", "delete"],
    ),
    grant(OperatorPart::Job, GrantScope::Cluster, "vmafx.dev", "vmafxjobs/status", &["patch"]),
    // Where owner references that block deletion are raw_object, this is what the guard asks for.
    grant(OperatorPart::Job, GrantScope::Cluster, "vmafx.dev", "vmafxjobs/finalizers", &["update"]),
    // Of jobs that have a Pod of their own.
    grant(
        OperatorPart::Job,
        GrantScope::Cluster,
        "batch",
        "jobs",
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    grant(OperatorPart::Job, GrantScope::Cluster, "", "pods", &["list", "watch"]),
    // Its UID tells this cluster from others that use the same controller.
    RbacGrant {
        part: OperatorPart::Job,
        scope: GrantScope::Cluster,
        group: "",
        resource: "namespaces",
        verbs: &["get"],
        names: &[cluster::NAMESPACE],
    },
    grant(OperatorPart::Node, GrantScope::Cluster, "vmafx.dev", "vmafxnodes", &["get", "list", "watch"]),
    grant(OperatorPart::Node, GrantScope::Cluster, "vmafx.dev", "vmafxnodes/status", &["patch"]),
    // Where owner references that block deletion are raw_object, this is what the guard asks for.
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
    // None of these with mounted certificates; both objects are read once a minute, not watched.
    grant(OperatorPart::Webhook, GrantScope::Own, "", "secrets", &["create"]),
    RbacGrant {
        part: OperatorPart::Webhook,
        scope: GrantScope::Own,
        group: "",
        resource: "secrets",
        verbs: &["get", "update"],
        names: &[args::SECRET],
    },
    RbacGrant {
        part: OperatorPart::Webhook,
        scope: GrantScope::Cluster,
        group: "admissionregistration.k8s.io",
        resource: "validatingwebhookconfigurations",
        verbs: &["get", "patch"],
        names: &[args::CONFIGURATION],
    },
];

/// A role of the operator as a file.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleFile {
    /// Its name below `config/rbac`.
    pub name: &'static str,
    /// What is in it.
    pub objects: Vec<Value>,
}

/// All files.
pub fn files() -> Vec<RoleFile> {
    let all = |_: OperatorPart| true;
    let job = |part: OperatorPart| matches!(part, OperatorPart::All | OperatorPart::Job);
    let node =
        |part: OperatorPart| matches!(part, OperatorPart::All | OperatorPart::Workload | OperatorPart::Node);
    let training = |part: OperatorPart| {
        matches!(part, OperatorPart::All | OperatorPart::Workload | OperatorPart::Training)
    };
    vec![
        RoleFile { name: "role.yaml", objects: roles("vmafx-operator", all) },
        RoleFile { name: "role_vmafxjob.yaml", objects: roles("vmafx-operator-vmafxjob", job) },
        RoleFile { name: "role_vmafxnode.yaml", objects: roles("vmafx-operator-vmafxnode", node) },
        RoleFile {
            name: "role_vmafxmodeltraining.yaml",
            objects: roles("vmafx-operator-vmafxmodeltraining", training),
        },
    ]
}

/// The ClusterRole and the Role of some parts.
fn roles(name: &str, wanted: impl Fn(OperatorPart) -> bool) -> Vec<Value> {
    let rules = |scope: GrantScope| -> Vec<Value> {
        TABLE.iter().filter(|grant| grant.scope == scope && wanted(grant.part)).map(rule).collect()
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

fn rule(grant: &RbacGrant) -> Value {
    let mut rule = json!({
        "apiGroups": [grant.group],
        "resources": [grant.resource],
        "verbs": grant.verbs,
    });
    if !grant.names.is_empty() {
        rule["resourceNames"] = json!(grant.names);
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
