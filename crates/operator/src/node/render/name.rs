//! Names of what is made for a node.

use sha2::{Digest as _, Sha256};

/// In front of every name, so that a Service of a node named `web` is not the team's own `web`.
const PREFIX: &str = "vmafx-node-";

/// The longest name: Kubernetes makes the label `controller-revision-hash` of it and eleven more characters.
const LONGEST: usize = 52;

/// The name of the StatefulSet, its Service and its budget.
pub fn workload_name(node: &str) -> String {
    bounded(PREFIX, node, LONGEST)
}

/// The prefix and a resource's name. One that is too long, or has dots, which a Service may not have, is cut and made
/// unique again by a digest.
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

/// The node that would make something of this name; one with a name that had to be cut cannot be told.
pub fn node_of(workload: &str) -> Option<&str> {
    workload.strip_prefix(PREFIX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_plain_name_stays_readable() {
        assert_eq!(workload_name("gpu-node-0"), "vmafx-node-gpu-node-0");
        assert_eq!(node_of("vmafx-node-gpu-node-0"), Some("gpu-node-0"));
        assert_eq!(node_of("postgres"), None);
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
        let made: std::collections::BTreeSet<_> = names.iter().map(|name| workload_name(name)).collect();
        assert_eq!(made.len(), names.len(), "{made:?}");
    }

    proptest! {
        /// Whatever Kubernetes takes as the name of a resource gives a name that it takes for a Service too.
        #[test]
        fn every_name_is_a_label_of_a_host(
            name in "[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?){0,6}"
        ) {
            let made = workload_name(&name);
            prop_assert!(made.len() <= LONGEST, "{made}");
            prop_assert!(made.starts_with(|c: char| c.is_ascii_lowercase()) && !made.ends_with('-'), "{made}");
            prop_assert!(made.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{made}");
        }
    }
}
