//! Conditions, changed the way Kubernetes' own library changes them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::Reason;
use vmafx_api::{Condition, ConditionStatus};

/// What a condition is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: Reason,
    /// Why, in a sentence. Nothing that moves by itself, such as an age: it would be written again and again.
    pub message: String,
}

impl Statement {
    /// It holds.
    pub fn yes(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::True, reason, message: message.into() }
    }

    /// It does not.
    pub fn no(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::False, reason, message: message.into() }
    }

    /// Nobody knows.
    pub fn unknown(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: ConditionStatus::Unknown, reason, message: message.into() }
    }

    /// The condition that says so. The time of the last transition moves only when the status does.
    pub fn condition(
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

/// A condition before and after, if it says something else.
pub fn change<'a>(
    before: &'a [Condition],
    after: &'a [Condition],
    type_: &str,
) -> Option<(&'a Condition, &'a Condition)> {
    let find = |conditions: &'a [Condition]| conditions.iter().find(|one| one.type_ == type_);
    let both = find(before).zip(find(after));
    both.filter(|(old, new)| (old.status, &old.reason) != (new.status, &new.reason))
}

/// The API server keeps whole seconds; a fraction would make what we wrote differ from what we read.
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
        let first = Statement::no(Reason::Reconciling, "").condition("Ready", &[], Some(1), at(10));
        let said = Statement::no(Reason::WorkersStarting, "1 of 2").condition(
            "Ready",
            std::slice::from_ref(&first),
            Some(2),
            at(20),
        );
        assert_eq!(said.last_transition_time, first.last_transition_time);
        assert_eq!((said.reason.as_str(), said.observed_generation), ("WorkersStarting", Some(2)));
        let flipped = Statement::yes(Reason::AsExpected, "").condition("Ready", &[said], Some(2), at(30));
        assert_eq!(flipped.last_transition_time, Time(at(30)));
    }

    #[test]
    fn times_are_whole_seconds_as_the_server_keeps_them() {
        let now = Timestamp::from_millisecond(1_234).unwrap();
        let made = Statement::no(Reason::Reconciling, "").condition("Ready", &[], None, now);
        assert_eq!(made.last_transition_time, Time(at(1)));
    }
}
