//! Names of rendered objects.

use sha2::{Digest as _, Sha256};

use super::WorkloadFamily;

/// Kubernetes appends eleven characters to the name of a StatefulSet for the label `controller-revision-hash`.
const MAX_WORKLOAD_LENGTH: usize = 52;

/// The name of a Service is a DNS label.
const MAX_SERVICE_LENGTH: usize = 63;

impl WorkloadFamily {
    /// Name of the StatefulSet.
    pub fn workload(self, resource: &str) -> String {
        self.bounded(resource, MAX_WORKLOAD_LENGTH)
    }

    /// Name of a Service that others look up: unchanged up to the length limit of a Service, which is higher than that
    /// of a StatefulSet.
    pub fn service(self, resource: &str) -> String {
        self.bounded(resource, MAX_SERVICE_LENGTH)
    }

    /// The resource whose objects have this name; `None` for other names. A name that was shortened gives the wrong
    /// resource, which then does not exist.
    pub fn resource_of(self, object: &str) -> Option<&str> {
        object.strip_prefix(self.app)?.strip_prefix('-')
    }

    fn bounded(self, resource: &str, max_length: usize) -> String {
        bounded(&format!("{}-", self.app), resource, max_length)
    }
}

/// The prefix and a resource's name. A name that is too long, or has dots, which a DNS label may not have, is shortened
/// and made unique again by a digest.
pub fn bounded(prefix: &str, name: &str, max_length: usize) -> String {
    let plain = format!("{prefix}{name}");
    if plain.len() <= max_length && !name.contains('.') {
        return plain;
    }
    let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    let digest = format!("{:08x}", u32::from_be_bytes([a, b, c, d]));
    let kept: String = plain.replace('.', "-").chars().take(max_length - digest.len() - 1).collect();
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
        let longest = "m".repeat(MAX_SERVICE_LENGTH - "vmafx-trainer-".len());
        assert_eq!(TRAINER.service(&longest), format!("vmafx-trainer-{longest}"));
        assert_ne!(TRAINER.workload(&longest), TRAINER.service(&longest));
        let [one, other] = ["n", "o"].map(|end| TRAINER.service(&format!("{longest}{end}")));
        assert!(one != other && one.len() <= MAX_SERVICE_LENGTH, "{one} {other}");
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
        /// Every valid name of a resource gives valid names of its objects.
        #[test]
        fn every_name_is_a_dns_label(
            name in "[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?){0,6}"
        ) {
            for (object, max_length) in [
                (NODE.workload(&name), MAX_WORKLOAD_LENGTH),
                (TRAINER.service(&name), MAX_SERVICE_LENGTH),
            ] {
                prop_assert!(object.len() <= max_length, "{object}");
                prop_assert!(object.starts_with(|c: char| c.is_ascii_lowercase()) && !object.ends_with('-'), "{object}");
                let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                prop_assert!(object.chars().all(fits), "{object}");
            }
        }
    }
}
