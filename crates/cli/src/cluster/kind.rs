//! The kinds of resources, and the names that users write for them.

use kube::core::{ApiResource, DynamicObject};
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceKind {
    Job,
    Node,
    Training,
}

impl ResourceKind {
    const ALL: [Self; 3] = [Self::Job, Self::Node, Self::Training];

    pub(super) fn resource(self) -> ApiResource {
        match self {
            Self::Job => ApiResource::erase::<VmafxJob>(&()),
            Self::Node => ApiResource::erase::<VmafxNode>(&()),
            Self::Training => ApiResource::erase::<VmafxModelTraining>(&()),
        }
    }

    /// The singular, for messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Node => "node",
            Self::Training => "training",
        }
    }

    /// Accepted names: our own, and those that `kubectl` accepts.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Job => &[
                "jobs",
                "job",
                "vmafxjobs",
                "vmafxjob",
                "vmjob",
                "vmafxjob.vmafx.dev",
                "vmafxjobs.vmafx.dev",
            ],
            Self::Node => &[
                "nodes",
                "node",
                "vmafxnodes",
                "vmafxnode",
                "vmnode",
                "vmafxnode.vmafx.dev",
                "vmafxnodes.vmafx.dev",
            ],
            Self::Training => &[
                "trainings",
                "training",
                "vmafxmodeltrainings",
                "vmafxmodeltraining",
                "vmtrain",
                "vmafxmodeltraining.vmafx.dev",
                "vmafxmodeltrainings.vmafx.dev",
            ],
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.names().contains(&name))
    }

    /// The resource as `kubectl -o name` writes it.
    pub(super) fn full_name(self, object: &DynamicObject) -> String {
        let resource = self.resource();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        format!("{}.{}/{name}", resource.kind.to_lowercase(), resource.group)
    }
}

/// Strips the kind from a job's name in the form of `-o name`.
pub(super) fn job_name(text: &str) -> &str {
    match text.split_once('/') {
        Some((kind, name)) if ResourceKind::from_name(kind) == Some(ResourceKind::Job) => name,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("vmafxjob.vmafx.dev/a", "a")]
    #[case("vmjob/a", "a")]
    #[case("a", "a")]
    #[case("vmnode/a", "vmnode/a")]
    fn a_job_is_named_with_or_without_its_kind(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(job_name(text), expected);
    }

    #[test]
    fn no_name_means_two_kinds() {
        for kind in ResourceKind::ALL {
            for name in kind.names() {
                assert_eq!(ResourceKind::from_name(name), Some(kind), "{name}");
            }
        }
    }
}
