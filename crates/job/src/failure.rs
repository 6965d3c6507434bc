//! Why a job has no score.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A job that has no score. The message is for people: it names the input or field and what to do, and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub reason: FailureReason,
    pub message: String,
}

impl Failure {
    pub fn new(reason: FailureReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// The cause of a failure, which decides whether another attempt may succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryClass {
    /// The job's own options are at fault: another attempt fails again.
    Job,
    /// A clip or the model is at fault: another attempt fails again until that is replaced.
    Input,
    /// The node is at fault: another one may succeed.
    Node,
    /// The fault is temporary: a later attempt may succeed.
    Moment,
    /// The node does not have what the job names. The node is at fault until another one reports the same; then the job is
    /// ([`FailureReason::confirmed`]).
    Unconfirmed,
}

impl RetryClass {
    /// Whether another attempt may succeed.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Job | Self::Input => false,
            Self::Node | Self::Moment | Self::Unconfirmed => true,
        }
    }

    /// Whether the failure counts against the node that reported it. A fault of the moment does not: a store that is away
    /// fails the jobs of every node alike.
    pub const fn blames_node(self) -> bool {
        match self {
            Self::Job | Self::Input | Self::Moment => false,
            Self::Node | Self::Unconfirmed => true,
        }
    }
}

/// Declares every reason once: its name, its number on the wire and its retry class.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $class:ident;)+) => {
        /// Why a job failed: the reason that condition, event, metric and log share.
        ///
        /// The number is that of the wire. It also gives the class of a reason that is newer than this program: 1 to 19
        /// the job or its input is at fault, 20 to 39 the machine or the network, 40 to 59 the controller ended the job.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum FailureReason {
            $($(#[$doc])* $name,)+
            /// A reason of a later release, by its number.
            Newer(i32),
        }

        impl FailureReason {
            /// Every reason that has a name, without [`FailureReason::Newer`].
            pub const ALL: [Self; [$($number),+].len()] = [$(Self::$name),+];

            pub const fn number(self) -> i32 {
                match self {
                    $(Self::$name => $number,)+
                    Self::Newer(number) => number,
                }
            }

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                    Self::Newer(_) => "Other",
                }
            }

            pub const fn retry_class(self) -> RetryClass {
                match self {
                    $(Self::$name => RetryClass::$class,)+
                    Self::Newer(20..=39) => RetryClass::Moment,
                    Self::Newer(_) => RetryClass::Job,
                }
            }

            pub const fn from_number(number: i32) -> Self {
                match number {
                    $($number => Self::$name,)+
                    newer => Self::Newer(newer),
                }
            }
        }
    };
}

reasons! {
    /// The node reported no reason, as one does whose release has only error texts.
    #[default]
    Unspecified = 0, Job;
    /// The input does not exist.
    InputNotFound = 1, Input;
    /// The input is outside the scoring roots, or its store denies access.
    InputDenied = 2, Input;
    /// The input cannot be decoded, is truncated, or differs from its description.
    InputInvalid = 3, Input;
    /// The input exceeds a limit on bytes or picture size.
    InputTooLarge = 4, Input;
    /// The clips have different frame counts, or different sizes that must not be scaled.
    ClipsDiffer = 5, Job;
    /// The model does not exist.
    ModelNotFound = 6, Input;
    /// The model cannot be loaded, or is not the requested one.
    ModelInvalid = 7, Input;
    /// An option is unknown or contradicts another.
    OptionsInvalid = 8, Job;
    /// The input's or the model's store does not answer.
    SourceUnreachable = 20, Moment;
    /// The worker was killed because it used too much memory.
    OutOfMemory = 21, Node;
    /// The worker exited without a result.
    WorkerCrashed = 22, Node;
    /// The worker made no progress for too long.
    WorkerStalled = 23, Node;
    /// The scratch volume has no space for the inputs.
    ScratchFull = 24, Node;
    /// The report could not be written.
    ReportNotWritten = 25, Moment;
    /// A fault of the node itself.
    Internal = 26, Node;
    /// The node has no file at the input's path.
    InputMissingOnNode = 27, Unconfirmed;
    /// The node is denied access to the input, by its file system or by the input's store.
    InputDeniedOnNode = 28, Unconfirmed;
    /// The node has no such model file, or the model's registry denies it access.
    ModelMissingOnNode = 29, Unconfirmed;
    /// The node's kernel cannot confine the worker as the node's settings require.
    NodeUnconfined = 30, Node;
    /// The node's CPU computes other values than the specification of a kernel says.
    KernelMismatch = 31, Node;
    /// Too many attempts ended because their node disappeared.
    NodeLost = 40, Node;
    /// The job missed its deadline.
    DeadlineExceeded = 41, Job;
}

impl FailureReason {
    /// Whether another attempt may succeed.
    pub const fn is_retryable(self) -> bool {
        self.retry_class().is_retryable()
    }

    /// The reason of a job about which two nodes report this one.
    #[must_use]
    pub const fn confirmed(self) -> Self {
        match self {
            Self::InputMissingOnNode => Self::InputNotFound,
            Self::InputDeniedOnNode => Self::InputDenied,
            Self::ModelMissingOnNode => Self::ModelNotFound,
            other => other,
        }
    }

    /// The reason with this name; `None` for a name of a later release.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for FailureReason {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(to)
    }
}

impl<'de> Deserialize<'de> for FailureReason {
    /// A name of a later release becomes an unknown retryable reason; a document that also has the number uses that instead.
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        Ok(Self::from_name(&name).unwrap_or(Self::Newer(39)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back() {
        for reason in FailureReason::ALL {
            assert_eq!(FailureReason::from_number(reason.number()), reason);
            assert_eq!(FailureReason::from_name(reason.name()), Some(reason));
        }
        assert_eq!(FailureReason::from_number(33), FailureReason::Newer(33));
    }

    /// The ranges that readers of an older release go by.
    #[test]
    fn the_number_tells_whether_another_attempt_may_succeed() {
        for reason in FailureReason::ALL.into_iter().filter(|reason| reason.number() < 40) {
            assert_eq!(reason.is_retryable(), reason.number() >= 20, "{reason}");
        }
        assert!(FailureReason::Newer(32).is_retryable());
        assert!(!FailureReason::Newer(9).is_retryable());
    }

    /// Queue and Pod mode follow this table.
    #[test]
    fn every_reason_has_its_class() {
        use FailureReason as Reason;
        use RetryClass::{Input, Job, Moment, Node, Unconfirmed};
        let table = [
            (
                Job,
                &[Reason::Unspecified, Reason::ClipsDiffer, Reason::OptionsInvalid, Reason::DeadlineExceeded]
                    [..],
            ),
            (
                Input,
                &[
                    Reason::InputNotFound,
                    Reason::InputDenied,
                    Reason::InputInvalid,
                    Reason::InputTooLarge,
                    Reason::ModelNotFound,
                    Reason::ModelInvalid,
                ],
            ),
            (
                Node,
                &[
                    Reason::OutOfMemory,
                    Reason::WorkerCrashed,
                    Reason::WorkerStalled,
                    Reason::ScratchFull,
                    Reason::Internal,
                    Reason::NodeUnconfined,
                    Reason::KernelMismatch,
                    Reason::NodeLost,
                ],
            ),
            (Moment, &[Reason::SourceUnreachable, Reason::ReportNotWritten]),
            (
                Unconfirmed,
                &[Reason::InputMissingOnNode, Reason::InputDeniedOnNode, Reason::ModelMissingOnNode],
            ),
        ];
        for (class, reasons) in table {
            for reason in reasons {
                assert_eq!(reason.retry_class(), class, "{reason}");
            }
        }
        let listed: usize = table.iter().map(|(_, reasons)| reasons.len()).sum();
        assert_eq!(listed, FailureReason::ALL.len());
    }

    #[test]
    fn what_two_nodes_agree_on_is_the_inputs_fault() {
        for reason in FailureReason::ALL {
            let unconfirmed = reason.retry_class() == RetryClass::Unconfirmed;
            assert_eq!(reason.confirmed() != reason, unconfirmed, "{reason}");
            assert!(!unconfirmed || reason.confirmed().retry_class() == RetryClass::Input, "{reason}");
        }
    }
}
