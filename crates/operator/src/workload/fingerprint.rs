//! Detects whether an object has changed, apart from the fields that the API server maintains.

use kube::Resource;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of everything but the status; of the metadata only labels, annotations and owner references.
    pub fn of<K: Resource + Serialize>(object: &K) -> Self {
        let mut value = serde_json::to_value(object).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("status");
            fields.remove("metadata");
        }
        let metadata = object.meta();
        Self::digest(&(value, &metadata.labels, &metadata.annotations, &metadata.owner_references))
    }

    /// Of the body of an apply.
    pub fn of_body(body: &Map<String, Value>) -> Self {
        Self::digest(body)
    }

    fn digest(content: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(content).unwrap_or_default();
        Self(Sha256::digest(bytes).into())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetStatus};
    use rstest::rstest;

    use super::*;

    fn scaled(replicas: i32) -> StatefulSet {
        let spec = StatefulSetSpec { replicas: Some(replicas), ..StatefulSetSpec::default() };
        StatefulSet { spec: Some(spec), ..StatefulSet::default() }
    }

    fn labelled(mut set: StatefulSet) -> StatefulSet {
        set.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        set
    }

    fn running(mut set: StatefulSet) -> StatefulSet {
        set.status = Some(StatefulSetStatus { replicas: 1, ..StatefulSetStatus::default() });
        set.metadata.resource_version = Some("7".to_owned());
        set.metadata.generation = Some(3);
        set
    }

    #[rstest]
    #[case::the_same(scaled(1), true)]
    #[case::status_and_bookkeeping(running(scaled(1)), true)]
    #[case::spec(scaled(2), false)]
    #[case::labels(labelled(scaled(1)), false)]
    fn changes_with_what_others_write_and_nothing_else(#[case] other: StatefulSet, #[case] same: bool) {
        assert_eq!(Fingerprint::of(&scaled(1)) == Fingerprint::of(&other), same);
    }
}
