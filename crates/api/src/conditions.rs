//! Conditions: what a resource says of itself, one statement per type.
//!
//! `kubectl wait --for=condition=…` reads these. Their types and reasons are closed lists, here and nowhere else, so
//! that a condition, an event and a metric label always use the same word, and so that documentation can name them
//! all.

mod reasons;
mod types;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::reasons::Reason;
pub use self::types::{JobCondition, NodeCondition, TrainingCondition};

/// One statement about a resource.
///
/// The fields and limits are those of Kubernetes' own conditions, which the schema of `k8s-openapi` leaves out.
#[derive(Clone, Debug, PartialEq, KubeSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What the statement is about, in CamelCase.
    #[serde(rename = "type")]
    #[schemars(
        length(max = 316),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        )
    )]
    pub type_: String,

    /// Whether it holds.
    pub status: ConditionStatus,

    /// The generation of the spec that the statement speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,

    /// When the status last changed from one value to another.
    pub last_transition_time: Time,

    /// Why, in one CamelCase word of a closed list.
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"))]
    pub reason: String,

    /// Why, in a sentence with numbers.
    #[schemars(length(max = 32768))]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is not known.
    Unknown,
}

/// A closed list of words, each with the sentence that explains it.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[doc = $text:literal])+ $word:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[doc = $text])+ $word,)+ }

        impl $name {
            /// The whole list.
            pub const ALL: &'static [Self] = &[$(Self::$word,)+];

            /// The word as it is written.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => stringify!($word),)+ }
            }

            /// What the word means, for documentation.
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
use words;

#[cfg(test)]
mod tests {
    use super::*;

    /// The pattern that the schema sets for reasons, in words: letters first, then letters and digits.
    fn is_camel_case(word: &str) -> bool {
        word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(|c| c.is_ascii_alphanumeric())
    }

    #[test]
    fn every_word_is_camel_case_and_explained() {
        let words = (Reason::ALL.iter().map(|w| (w.as_str(), w.meaning())))
            .chain(JobCondition::ALL.iter().map(|w| (w.as_str(), w.meaning())))
            .chain(NodeCondition::ALL.iter().map(|w| (w.as_str(), w.meaning())))
            .chain(TrainingCondition::ALL.iter().map(|w| (w.as_str(), w.meaning())));
        for (word, meaning) in words {
            assert!(is_camel_case(word), "{word}");
            assert!(meaning.trim().ends_with('.'), "{word}: {meaning:?} is not a sentence");
        }
    }
}
