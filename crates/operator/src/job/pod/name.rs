//! Names of what is made for a job.

use crate::render::name::bounded;

/// In front of the name of every Kubernetes Job, so that one of a VmafxJob named `backup` is not the team's own `backup`.
const PREFIX: &str = "vmafx-job-";

/// The longest value of a label; Kubernetes makes one of the name of a Job.
const LONGEST: usize = 63;

/// The name of the Kubernetes Job.
pub fn job_name(resource: &str) -> String {
    bounded(PREFIX, resource, LONGEST)
}

/// The value of the label by which Job and Pods are found: the resource's name, if a label holds it.
pub fn label_value(resource: &str) -> String {
    if resource.len() <= LONGEST { resource.to_owned() } else { bounded("", resource, LONGEST) }
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
            assert!(job_name(name).len() <= LONGEST && label_value(name).len() <= LONGEST);
        }
        assert_ne!(job_name(&names[0]), job_name(&names[1]));
        assert_ne!(label_value(&names[0]), label_value(&names[1]));
    }
}
