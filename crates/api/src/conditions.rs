//! Conditions of the resources, as `kubectl wait --for=condition=…` reads them.
//!
//! Condition types and reasons are closed lists, so that a condition, an event and a metric label share one spelling and
//! the documentation is complete.

mod reasons;
mod types;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::reasons::Reason;
pub use self::types::{JobCondition, NodeCondition, TenantCondition, TrainingCondition};

/// One aspect of the state of a resource.
///
/// The fields and limits are those of Kubernetes' own conditions, which the schema of `k8s-openapi` leaves out.
#[derive(Clone, Debug, PartialEq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Type of the condition, in CamelCase.
    #[serde(rename = "type")]
    #[schemars(
        length(max = 316),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        )
    )]
    pub type_: String,

    /// Whether the condition holds: True, False or Unknown.
    pub status: ConditionStatus,

    /// The generation of the spec that the condition was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,

    /// When the status last changed from one value to another.
    pub last_transition_time: Time,

    /// Why the condition has this status, as one CamelCase word of a closed list.
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,

    /// Why the condition has this status, as a sentence.
    #[schemars(length(max = 32768))]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

/// An enum whose variants carry their documentation at run time.
macro_rules! closed_list {
    ($(#[$doc:meta])* $name:ident { $($(#[doc = $text:literal])+ $word:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[doc = $text])+ $word,)+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$word,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => stringify!($word),)+ }
            }

            /// The doc comment of the variant.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$word => concat!($($text),+),)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
use closed_list;

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of the schema's pattern that our own spellings use.
    fn is_camel_case(word: &str) -> bool {
        word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(|c| c.is_ascii_alphanumeric())
    }

    #[test]
    fn every_type_and_reason_is_camel_case_and_explained() {
        let words = (Reason::ALL.iter().map(|w| (w.as_str(), w.meaning())))
            .chain(JobCondition::ALL.iter().map(|w| (w.as_str(), w.meaning())))
            .chain(NodeCondition::ALL.iter().map(|w| (w.as_str(), w.meaning())))
            .chain(TrainingCondition::ALL.iter().map(|w| (w.as_str(), w.meaning())))
            .chain(TenantCondition::ALL.iter().map(|w| (w.as_str(), w.meaning())));
        for (word, meaning) in words {
            assert!(is_camel_case(word), "{word}");
            assert!(meaning.trim().ends_with('.'), "{word}: {meaning:?} is not a sentence");
        }
    }
}
