//! Who gives a label, as far as training tells labellers apart.
//!
//! | the caller                      | one labeller is                                                            |
//! |---------------------------------|----------------------------------------------------------------------------|
//! | the operator, for a resource    | the namespace of the resource, in its cluster                              |
//! | everybody else                  | the authenticated subject                                                  |
//!
//! The operator submits the jobs of all users of a namespace with one token, and a resource does not say who created it:
//! managed fields and annotations are written by the users themselves. The origin that anybody else names does not count,
//! because whoever submits a job chooses it, and could be a new labeller with every job.
//!
//! Readers of samples get a digest, because they need to tell labellers apart and not to know them. It differs between
//! tenants. Whoever guesses a subject can confirm the guess, so it is no secret.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use vmafx_queue::job::{Labeller, Origin};

use crate::identity::Identity;

/// Bytes of the digest: enough that no two labellers share one.
const DIGEST_BYTES: usize = 16;

/// `origin` is that of the job.
pub(super) fn labeller(who: &Identity, origin: Option<&Origin>) -> Labeller {
    let tenant = who.tenant.as_str();
    match origin.filter(|origin| who.calls_for_namespaces && !origin.namespace.is_empty()) {
        Some(origin) => digest(&[tenant, "namespace", &origin.cluster, &origin.namespace]),
        None => digest(&[tenant, "subject", &who.subject]),
    }
}

/// Each part is added with its length, so that no two lists have the same bytes.
fn digest(parts: &[&str]) -> Labeller {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut name = String::new();
    for byte in hash.finalize().iter().take(DIGEST_BYTES) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    Labeller::new(name)
}

#[cfg(test)]
mod tests {
    use vmafx_queue::TenantId;

    use super::*;
    use crate::identity::Roles;

    fn caller(tenant: &str, subject: &str, operator: bool) -> Identity {
        let (tenant, subject) = (TenantId::new(tenant).unwrap(), subject.to_owned());
        let source = crate::identity::SubjectSource::Platform;
        Identity { tenant, subject, source, roles: Roles::NONE, calls_for_namespaces: operator }
    }

    fn of(namespace: &str, name: &str) -> Origin {
        Origin { cluster: "east".into(), namespace: namespace.into(), name: name.into(), uid: name.into() }
    }

    #[test]
    fn a_subject_is_a_labeller_whatever_origin_it_names() {
        let anna = caller("t", "anna", false);
        let as_anna = labeller(&anna, None);
        assert_eq!(labeller(&anna, Some(&of("a", "x"))), as_anna);
        assert_eq!(labeller(&anna, Some(&of("b", "y"))), as_anna);
        assert_ne!(labeller(&caller("t", "ben", false), None), as_anna);
        assert_ne!(labeller(&caller("u", "anna", false), None), as_anna, "another tenant");
    }

    #[test]
    fn the_operator_labels_for_the_namespace_of_the_resource() {
        let operator = caller("t", "operator", true);
        let of_a = labeller(&operator, Some(&of("a", "x")));
        assert_eq!(labeller(&operator, Some(&of("a", "y"))), of_a);
        assert_ne!(labeller(&operator, Some(&of("b", "x"))), of_a);
        assert_ne!(labeller(&caller("t", "a", false), None), of_a);
    }

    #[test]
    fn the_name_of_a_labeller_is_the_same_in_every_release() {
        let name = labeller(&caller("t", "anna@example.com", false), None);
        assert_eq!(name.as_str(), "7a7273be90a9f74004b6aa9c60acc234");
    }
}
