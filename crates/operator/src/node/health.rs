//! Whether the agents of a node are well: the controller answers, and the last heartbeat is not too old.
//!
//! The controller writes `lastHeartbeat`; here it is only read. A node that goes stale therefore stays stale until an agent
//! is heard of again.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use vmafx_api::ConditionStatus;
use vmafx_api::conditions::Reason;

use super::probe::Probe;
use crate::conditions::Statement;

/// A heartbeat that is older than this is too old.
pub const STALE_AFTER: Duration = Duration::from_mins(1);

/// How often it is looked at.
pub const LOOK_EVERY: Duration = Duration::from_secs(30);

/// What is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known<'a> {
    /// When the node was made.
    pub created: Option<Timestamp>,
    /// When an agent was last heard of.
    pub heartbeat: Option<Timestamp>,
    /// Whether the controller answers.
    pub probe: &'a Probe,
}

/// What follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// In one word.
    pub healthy: bool,
    /// For the condition.
    pub statement: Statement,
    /// When to judge again.
    pub again: Duration,
}

/// Judges.
pub fn judge(known: &Known<'_>, now: Timestamp) -> Health {
    let (healthy, statement) = match known.probe {
        Probe::Failed(why) => (false, Statement::no(Reason::ProbeFailed, why.clone())),
        Probe::Answered => match known.heartbeat {
            Some(heard) if age(heard, now) > STALE_AFTER => {
                (false, Statement::no(Reason::HeartbeatStale, format!("no agent was heard of since {heard}")))
            }
            Some(_) => (true, Statement::yes(Reason::AsExpected, "agents report in time")),
            None if known.created.is_some_and(|created| age(created, now) > STALE_AFTER) => (
                false,
                Statement::no(Reason::HeartbeatStale, "no agent has ever reported: see the workers' logs"),
            ),
            None => (true, Statement::unknown(Reason::AwaitingFirstHeartbeat, "no agent has reported yet")),
        },
    };
    Health { healthy, again: until_next(known, now), statement }
}

impl Health {
    /// Of workers that were taken away: nobody is there to be heard of.
    pub fn away(reason: Reason, message: &str) -> Self {
        Self { healthy: false, statement: Statement::no(reason, message), again: LOOK_EVERY }
    }

    /// Whether jobs can be given to it.
    pub fn is_known_to_be_well(&self) -> bool {
        self.statement.status == ConditionStatus::True
    }
}

/// The next look: at the latest when the heartbeat becomes too old, so that this is seen when it happens.
fn until_next(known: &Known<'_>, now: Timestamp) -> Duration {
    let since = known.heartbeat.or(known.created);
    let left = since.map(|since| STALE_AFTER.saturating_sub(age(since, now)));
    match left {
        // A second more than nothing: times are whole seconds, and "older than" is not "as old as".
        Some(left) if !left.is_zero() => LOOK_EVERY.min(left + Duration::from_secs(1)),
        _ => LOOK_EVERY,
    }
}

/// A time to come is no age: clocks differ.
fn age(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NOW: i64 = 1_000_000;

    fn before(seconds: i64) -> Timestamp {
        Timestamp::from_second(NOW - seconds).unwrap()
    }

    fn judged(created: i64, heartbeat: Option<i64>, probe: &Probe) -> Health {
        let known = Known { created: Some(before(created)), heartbeat: heartbeat.map(before), probe };
        judge(&known, Timestamp::from_second(NOW).unwrap())
    }

    #[rstest]
    #[case::fresh(9_000, Some(10), true, Reason::AsExpected)]
    #[case::as_old_as_it_may_be(9_000, Some(60), true, Reason::AsExpected)]
    #[case::too_old(9_000, Some(61), false, Reason::HeartbeatStale)]
    #[case::ninety_seconds(9_000, Some(90), false, Reason::HeartbeatStale)]
    #[case::from_a_clock_ahead(9_000, Some(-30), true, Reason::AsExpected)]
    #[case::just_made(0, None, true, Reason::AwaitingFirstHeartbeat)]
    #[case::a_minute_to_begin(60, None, true, Reason::AwaitingFirstHeartbeat)]
    #[case::never_heard_of(61, None, false, Reason::HeartbeatStale)]
    fn by_the_age_of_the_heartbeat(
        #[case] created: i64,
        #[case] heartbeat: Option<i64>,
        #[case] healthy: bool,
        #[case] reason: Reason,
    ) {
        let health = judged(created, heartbeat, &Probe::Answered);
        assert_eq!((health.healthy, health.statement.reason), (healthy, reason));
    }

    #[test]
    fn a_controller_that_does_not_answer_makes_every_node_unhealthy() {
        let health = judged(9_000, Some(1), &Probe::Failed("it answered 503".to_owned()));
        assert!(!health.healthy);
        assert_eq!(health.statement, Statement::no(Reason::ProbeFailed, "it answered 503"));
    }

    #[test]
    fn the_same_facts_give_the_same_words_later() {
        // Otherwise every look would be a write.
        assert_eq!(judged(9_000, Some(90), &Probe::Answered), judged(9_000, Some(90), &Probe::Answered));
        let [early, late] = [100, 200].map(|ago| {
            let (created, heard) = (Some(before(9_000)), Some(before(100)));
            let known = Known { created, heartbeat: heard, probe: &Probe::Answered };
            judge(&known, Timestamp::from_second(NOW - 100 + ago).unwrap()).statement
        });
        assert_eq!(early, late);
    }

    #[rstest]
    #[case::usual(Some(5), 30)]
    #[case::just_before_it_is_stale(Some(50), 11)]
    #[case::at_the_very_edge(Some(60), 30)]
    #[case::stale(Some(500), 30)]
    fn it_is_looked_at_when_it_becomes_stale(#[case] heartbeat: Option<i64>, #[case] seconds: u64) {
        assert_eq!(judged(9_000, heartbeat, &Probe::Answered).again, Duration::from_secs(seconds));
    }
}
