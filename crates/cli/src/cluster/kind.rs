//! The kinds of resources, and the names that people call them by.

use kube::core::{ApiResource, DynamicObject};
use vmafx_api::{VmafxJob, VmafxModelTraining, VmafxNode};

/// A kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Job,
    Node,
    Training,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Job, Self::Node, Self::Training];

    pub(super) fn resource(self) -> ApiResource {
        match self {
            Self::Job => ApiResource::erase::<VmafxJob>(&()),
            Self::Node => ApiResource::erase::<VmafxNode>(&()),
            Self::Training => ApiResource::erase::<VmafxModelTraining>(&()),
        }
    }

    /// One of them, in a sentence.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Node => "node",
            Self::Training => "training",
        }
    }

    /// The first is what we call it; the others are what `kubectl` understands.
    pub(super) fn words(self) -> &'static [&'static str] {
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

    /// The kind that goes by this word.
    pub(super) fn called(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.words().contains(&word))
    }

    /// As `kubectl -o name` writes a resource.
    pub(super) fn full_name(self, object: &DynamicObject) -> String {
        let resource = self.resource();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        format!("{}.{}/{name}", resource.kind.to_lowercase(), resource.group)
    }
}

/// The name of a job, alone or as `-o name` writes it.
pub(super) fn job_name(text: &str) -> &str {
    match text.split_once('/') {
        Some((word, name)) if Kind::called(word) == Some(Kind::Job) => name,
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
    fn no_word_means_two_kinds() {
        for kind in Kind::ALL {
            for word in kind.words() {
                assert_eq!(Kind::called(word), Some(kind), "{word}");
            }
        }
    }
}
