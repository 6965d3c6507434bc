//! Conditions, updated by the rules of Kubernetes' own libraries.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::Reason;
use vmafx_api::{Condition, ConditionStatus};

/// What a condition is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionState {
    pub status: ConditionStatus,
    pub reason: Reason,
    /// Contains nothing that changes by itself, such as an age, because every change is a write.
    pub message: String,
}

impl ConditionState {
    pub fn met(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::True, reason, message: message.into() }
    }

    pub fn unmet(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::False, reason, message: message.into() }
    }

    pub fn unknown(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::Unknown, reason, message: message.into() }
    }

    /// The condition; the time of its last transition changes only with its status.
    pub fn into_condition(
        self,
        type_: &'static str,
        before: &[Condition],
        generation: Option<i64>,
        now: Timestamp,
    ) -> Condition {
        let since = (before.iter().find(|condition| condition.type_ == type_))
            .filter(|condition| condition.status == self.status)
            .map_or(Time(whole_second(now)), |condition| condition.last_transition_time.clone());
        Condition {
            type_: type_.to_owned(),
            status: self.status,
            observed_generation: generation,
            last_transition_time: since,
            reason: self.reason.as_str().to_owned(),
            message: self.message,
        }
    }
}

/// A condition before and after, if its status or reason has changed.
pub fn transition<'a>(
    before: &'a [Condition],
    after: &'a [Condition],
    type_: &str,
) -> Option<(&'a Condition, &'a Condition)> {
    let find = |conditions: &'a [Condition]| conditions.iter().find(|condition| condition.type_ == type_);
    let both = find(before).zip(find(after));
    both.filter(|(old, new)| (old.status, &old.reason) != (new.status, &new.reason))
}

/// The API server keeps whole seconds; a fraction would make what was written differ from what is read.
pub fn whole_second(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_transition_time_moves_with_the_status_alone() {
        let first =
            ConditionState::unmet(Reason::Reconciling, "").into_condition("Ready", &[], Some(1), at(10));
        let changed = ConditionState::unmet(Reason::WorkersStarting, "1 of 2").into_condition(
            "Ready",
            std::slice::from_ref(&first),
            Some(2),
            at(20),
        );
        assert_eq!(changed.last_transition_time, first.last_transition_time);
        assert_eq!((changed.reason.as_str(), changed.observed_generation), ("WorkersStarting", Some(2)));
        let flipped =
            ConditionState::met(Reason::AsExpected, "").into_condition("Ready", &[changed], Some(2), at(30));
        assert_eq!(flipped.last_transition_time, Time(at(30)));
    }

    #[test]
    fn times_are_whole_seconds_as_the_server_keeps_them() {
        let now = Timestamp::from_millisecond(1_234).unwrap();
        let made = ConditionState::unmet(Reason::Reconciling, "").into_condition("Ready", &[], None, now);
        assert_eq!(made.last_transition_time, Time(at(1)));
    }
}
