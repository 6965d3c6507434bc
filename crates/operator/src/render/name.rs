//! Names of what is made for a resource.

use sha2::{Digest as _, Sha256};

use super::WorkloadFamily;

/// The longest name of a StatefulSet: Kubernetes makes the label `controller-revision-hash` of it and eleven more
/// characters.
const WORKLOAD: usize = 52;

/// The longest name of a Service, which is a label of a host name.
const SERVICE: usize = 63;

impl WorkloadFamily {
    /// The name of the StatefulSet.
    pub fn workload(self, resource: &str) -> String {
        self.within(WORKLOAD, resource)
    }

    /// The name of a Service that others have to find: as it is for as long as a Service may be called so, which is
    /// longer than a StatefulSet.
    pub fn service(self, resource: &str) -> String {
        self.within(SERVICE, resource)
    }

    /// The resource for which something of this name would be made; one with a name that had to be cut cannot be told.
    pub fn resource_of(self, made: &str) -> Option<&str> {
        made.strip_prefix(self.app)?.strip_prefix('-')
    }

    fn within(self, longest: usize, resource: &str) -> String {
        bounded(&format!("{}-", self.app), resource, longest)
    }
}

/// The prefix and a resource's name. One that is too long, or has dots, which a label of a host name may not have, is
/// cut and made unique again by a digest.
pub fn bounded(prefix: &str, name: &str, longest: usize) -> String {
    let plain = format!("{prefix}{name}");
    if plain.len() <= longest && !name.contains('.') {
        return plain;
    }
    let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    let digest = format!("{:08x}", u32::from_be_bytes([a, b, c, d]));
    let kept: String = plain.replace('.', "-").chars().take(longest - digest.len() - 1).collect();
    format!("{}-{digest}", kept.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::render::{NODE, TRAINER};

    #[test]
    fn a_plain_name_stays_readable() {
        assert_eq!(NODE.workload("gpu-node-0"), "vmafx-node-gpu-node-0");
        assert_eq!(TRAINER.service("house-model"), "vmafx-trainer-house-model");
        assert_eq!(NODE.resource_of("vmafx-node-gpu-node-0"), Some("gpu-node-0"));
        assert_eq!(TRAINER.resource_of("vmafx-trainer-a"), Some("a"));
        assert_eq!([NODE.resource_of("postgres"), NODE.resource_of("vmafx-trainer-a")], [None, None]);
    }

    #[test]
    fn a_service_keeps_its_name_for_as_long_as_a_service_can() {
        let longest = "m".repeat(SERVICE - "vmafx-trainer-".len());
        assert_eq!(TRAINER.service(&longest), format!("vmafx-trainer-{longest}"));
        assert_ne!(TRAINER.workload(&longest), TRAINER.service(&longest));
        let [one, other] = ["n", "o"].map(|end| TRAINER.service(&format!("{longest}{end}")));
        assert!(one != other && one.len() <= SERVICE, "{one} {other}");
    }

    #[test]
    fn names_that_would_collide_do_not() {
        let names = [
            "a.b".to_owned(),
            "a-b".to_owned(),
            "x".repeat(60),
            format!("{}y", "x".repeat(60)),
            "a.b-".to_owned() + &"c".repeat(40),
        ];
        let made: std::collections::BTreeSet<_> = names.iter().map(|name| NODE.workload(name)).collect();
        assert_eq!(made.len(), names.len(), "{made:?}");
    }

    proptest! {
        /// Whatever Kubernetes takes as the name of a resource gives names that it takes for what is made of it.
        #[test]
        fn every_name_is_a_label_of_a_host(
            name in "[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?){0,6}"
        ) {
            for (made, longest) in [(NODE.workload(&name), WORKLOAD), (TRAINER.service(&name), SERVICE)] {
                prop_assert!(made.len() <= longest, "{made}");
                prop_assert!(made.starts_with(|c: char| c.is_ascii_lowercase()) && !made.ends_with('-'), "{made}");
                let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                prop_assert!(made.chars().all(fits), "{made}");
            }
        }
    }
}
