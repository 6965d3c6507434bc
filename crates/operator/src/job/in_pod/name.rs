//! Names of the objects that are created for a job.

use crate::render::name::bounded;

/// Keeps the Kubernetes Job of a VmafxJob named `backup` apart from the team's own Job `backup`.
const PREFIX: &str = "vmafx-job-";

/// The limit of a label value; Kubernetes uses the name of a Job as one.
const MAX_LABEL_VALUE_LENGTH: usize = 63;

pub fn job_name(resource: &str) -> String {
    bounded(PREFIX, resource, MAX_LABEL_VALUE_LENGTH)
}

/// The value of the label by which Job and Pods are selected: the resource's name, if it fits into a label.
pub fn label_value(resource: &str) -> String {
    if resource.len() <= MAX_LABEL_VALUE_LENGTH {
        resource.to_owned()
    } else {
        bounded("", resource, MAX_LABEL_VALUE_LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("intro-1", "vmafx-job-intro-1", "intro-1")]
    #[case::dots("clip.v2", "vmafx-job-clip-v2-1902906b", "clip.v2")]
    fn short_names_stay_readable(#[case] resource: &str, #[case] job: &str, #[case] label: &str) {
        assert_eq!((job_name(resource).as_str(), label_value(resource).as_str()), (job, label));
    }

    #[test]
    fn the_longest_names_fit_and_differ() {
        let names = [0, 1].map(|last| format!("{}{last}", "a".repeat(252)));
        for name in &names {
            assert!(
                job_name(name).len() <= MAX_LABEL_VALUE_LENGTH
                    && label_value(name).len() <= MAX_LABEL_VALUE_LENGTH
            );
        }
        assert_ne!(job_name(&names[0]), job_name(&names[1]));
        assert_ne!(label_value(&names[0]), label_value(&names[1]));
    }
}
