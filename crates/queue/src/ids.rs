//! Identifiers. Each is a type of its own, so that the compiler rejects one in place of another, and each is
//! validated once, where it enters the program.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Counts the attempts of a job from 1. It identifies an attempt within its job and serves as the fencing token.
pub type AttemptNumber = u32;

/// Why a text is not a valid identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("{0:?} is not a UUID")]
    Uuid(String),
    #[error("the text is empty")]
    Empty,
    #[error("the text has more than {0} characters")]
    Long(usize),
    #[error("the text has a control character")]
    Unprintable,
}

macro_rules! uuid_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            /// Accepts only the hyphenated form, so that every id has exactly one spelling.
            fn from_str(text: &str) -> Result<Self, IdError> {
                match Uuid::try_parse(text) {
                    Ok(id) if text.len() == 36 => Ok(Self(id)),
                    _ => Err(IdError::Uuid(text.chars().take(64).collect())),
                }
            }
        }
    };
}

uuid_id! {
    /// A version 7 UUID, so that ids made by one clock sort by age.
    JobId
}

uuid_id! {
    SessionId
}

uuid_id! {
    /// Chosen by a node for one pull, so that it can give back a job whose assignment never arrived.
    PullId
}

macro_rules! text_id {
    ($(#[$meta:meta])* $name:ident, $max_length:literal) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Box<str>);

        impl $name {
            /// Counted in characters, not in bytes.
            pub const MAX_LENGTH: usize = $max_length;

            pub fn new(text: &str) -> Result<Self, IdError> {
                if text.is_empty() {
                    return Err(IdError::Empty);
                }
                if text.chars().count() > Self::MAX_LENGTH {
                    return Err(IdError::Long(Self::MAX_LENGTH));
                }
                if text.chars().any(char::is_control) {
                    return Err(IdError::Unprintable);
                }
                Ok(Self(text.into()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The tenant comes from the caller's token. Only a node may name another one, which the administrator must permit.
    TenantId, 128
}

text_id! {
    /// Chosen by the submitter to make a submission safe to retry; unique for each submitter of a tenant.
    IdempotencyKey, 256
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::hyphenated("0192d3f4-0000-7000-8000-000000000001", true)]
    #[case::simple("0192d3f4000070008000000000000001", false)]
    #[case::braced("{0192d3f4-0000-7000-8000-000000000001}", false)]
    #[case::empty("", false)]
    #[case::words("not-a-uuid", false)]
    fn a_job_id_has_one_form(#[case] text: &str, #[case] good: bool) {
        assert_eq!(text.parse::<JobId>().is_ok(), good);
    }

    #[rstest]
    #[case::empty("", Some(IdError::Empty))]
    #[case::control("a\u{7}b", Some(IdError::Unprintable))]
    #[case::newline("a\nb", Some(IdError::Unprintable))]
    #[case::words("uid/2 über", None)]
    fn a_key_is_printable(#[case] text: &str, #[case] refused: Option<IdError>) {
        assert_eq!(IdempotencyKey::new(text).err(), refused);
    }

    #[test]
    fn length_counts_characters() {
        assert!(IdempotencyKey::new(&"ü".repeat(256)).is_ok());
        assert_eq!(IdempotencyKey::new(&"ü".repeat(257)), Err(IdError::Long(256)));
    }
}
