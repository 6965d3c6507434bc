//! Which kinds an operator reconciles.
//!
//! By default one operator reconciles all of them. An operator for some kinds needs only the role of these kinds
//! (`config/rbac`) and has a lease of its own, so that one operator per kind can run side by side in one namespace.

use std::fmt;

/// A kind of resource that an operator reconciles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum ReconciledKind {
    Job,
    Node,
    Training,
}

impl ReconciledKind {
    pub const ALL: [Self; 3] = [Self::Job, Self::Node, Self::Training];

    /// As in the names of roles and leases.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Job => "vmafxjob",
            Self::Node => "vmafxnode",
            Self::Training => "vmafxmodeltraining",
        }
    }
}

impl fmt::Display for ReconciledKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Job => "job",
            Self::Node => "node",
            Self::Training => "training",
        })
    }
}

/// The kinds of one operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconciledKinds(Vec<ReconciledKind>);

impl ReconciledKinds {
    pub fn new(kinds: &[ReconciledKind]) -> Self {
        Self(ReconciledKind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect())
    }

    pub fn includes(&self, kind: ReconciledKind) -> bool {
        self.0.contains(&kind)
    }

    /// Whether the operator runs StatefulSets.
    pub fn has_workloads(&self) -> bool {
        self.includes(ReconciledKind::Node) || self.includes(ReconciledKind::Training)
    }

    /// Default name of the lease. Operators for different kinds do not compete for one lease.
    pub fn lease(&self) -> String {
        let all = self.0.len() == ReconciledKind::ALL.len();
        let kinds = self.0.iter().filter(|_| !all).map(|kind| kind.name());
        let name: Vec<_> = std::iter::once("vmafx-operator").chain(kinds).collect();
        format!("{}.{}", name.join("-"), vmafx_api::GROUP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_for_different_kinds_have_different_leases() {
        use ReconciledKind::{Job, Node, Training};
        let lease = |kinds: &[ReconciledKind]| ReconciledKinds::new(kinds).lease();
        assert_eq!(lease(&[Job, Node, Training]), "vmafx-operator.vmafx.dev");
        assert_eq!(lease(&[Job]), "vmafx-operator-vmafxjob.vmafx.dev");
        assert_eq!(lease(&[Training, Node]), "vmafx-operator-vmafxnode-vmafxmodeltraining.vmafx.dev");
    }
}
