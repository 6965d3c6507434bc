//! Whether the agents of a node are healthy: the controller answers, and the last heartbeat is recent. Pure.
//!
//! The controller writes `lastHeartbeat`; the operator only reads it. A node whose heartbeat is stale therefore stays
//! unhealthy until one of its agents reports again.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use vmafx_api::conditions::Reason;
use vmafx_api::node::QuarantinedWorkers;

use super::probe::ControllerProbe;
use crate::conditions::ConditionState;

/// A heartbeat that is older is stale.
pub const STALE_AFTER: Duration = Duration::from_mins(1);

pub const RECHECK_INTERVAL: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSignals<'a> {
    /// When the agents could first report: at the creation of the node, or its return from a pause.
    pub started: Option<Timestamp>,
    pub heartbeat: Option<Timestamp>,
    pub probe: &'a ControllerProbe,
    pub quarantine: Option<&'a QuarantinedWorkers>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentHealth {
    pub healthy: bool,
    /// The condition `AgentHealthy`.
    pub state: ConditionState,
    /// The condition `Quarantined`.
    pub quarantined: ConditionState,
    pub recheck_after: Duration,
}

pub fn judge(signals: &AgentSignals<'_>, now: Timestamp) -> AgentHealth {
    let (healthy, state) = match signals.probe {
        ControllerProbe::Failed(why) => (false, ConditionState::unmet(Reason::ProbeFailed, why.clone())),
        ControllerProbe::Answered => match signals.heartbeat {
            Some(heartbeat) if age(heartbeat, now) > STALE_AFTER => {
                let message = format!("no agent has reported since {heartbeat}");
                (false, ConditionState::unmet(Reason::HeartbeatStale, message))
            }
            Some(_) => match signals.quarantine.filter(|all| all.workers >= all.connected) {
                Some(all) => (false, ConditionState::unmet(Reason::FailingJobs, quarantine_message(all))),
                None => (true, ConditionState::met(Reason::AsExpected, "agents report in time")),
            },
            None if signals.started.is_some_and(|started| age(started, now) > STALE_AFTER) => {
                let message = "no agent has reported since the workers were created: see their logs";
                (false, ConditionState::unmet(Reason::HeartbeatStale, message))
            }
            None => {
                let message = "no agent has reported yet";
                (true, ConditionState::unknown(Reason::AwaitingFirstHeartbeat, message))
            }
        },
    };
    let quarantined = quarantined(signals.quarantine);
    AgentHealth { healthy, state, quarantined, recheck_after: recheck_after(signals, now) }
}

fn quarantined(quarantine: Option<&QuarantinedWorkers>) -> ConditionState {
    match quarantine {
        Some(quarantine) => ConditionState::met(Reason::FailingJobs, quarantine_message(quarantine)),
        None => ConditionState::unmet(Reason::AsExpected, ""),
    }
}

fn quarantine_message(quarantine: &QuarantinedWorkers) -> String {
    let QuarantinedWorkers { workers, connected, reason, message } = quarantine;
    format!(
        "{workers} of {connected} workers failed several jobs in a row and get none but on trial; last error ({reason}): \
         {message}"
    )
}

impl AgentHealth {
    /// For a node whose spec requests no workers.
    pub fn without_agents(reason: Reason, message: &str) -> Self {
        let state = ConditionState::unmet(reason, message);
        Self { healthy: false, state, quarantined: quarantined(None), recheck_after: RECHECK_INTERVAL }
    }
}

/// At the latest when the heartbeat becomes stale, so that the status reports it at once.
fn recheck_after(signals: &AgentSignals<'_>, now: Timestamp) -> Duration {
    let since = signals.heartbeat.or(signals.started);
    let left = since.map(|since| STALE_AFTER.saturating_sub(age(since, now)));
    match left {
        // One second more, because timestamps are whole seconds and a heartbeat is stale only when it is older.
        Some(left) if !left.is_zero() => RECHECK_INTERVAL.min(left + Duration::from_secs(1)),
        _ => RECHECK_INTERVAL,
    }
}

/// Zero for a time in the future, because clocks differ.
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

    fn judged(started: i64, heartbeat: Option<i64>, probe: &ControllerProbe) -> AgentHealth {
        let signals = AgentSignals {
            started: Some(before(started)),
            heartbeat: heartbeat.map(before),
            probe,
            quarantine: None,
        };
        judge(&signals, Timestamp::from_second(NOW).unwrap())
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
        #[case] started: i64,
        #[case] heartbeat: Option<i64>,
        #[case] healthy: bool,
        #[case] reason: Reason,
    ) {
        let health = judged(started, heartbeat, &ControllerProbe::Answered);
        assert_eq!((health.healthy, health.state.reason), (healthy, reason));
    }

    #[rstest]
    #[case::one_of_two(1, true, Reason::AsExpected)]
    #[case::all(2, false, Reason::FailingJobs)]
    fn a_pool_whose_workers_are_all_quarantined_is_unhealthy(
        #[case] workers: i32,
        #[case] healthy: bool,
        #[case] reason: Reason,
    ) {
        let quarantine = QuarantinedWorkers {
            workers,
            connected: 2,
            reason: "ScratchFull".to_owned(),
            message: "pool-0: no space".to_owned(),
        };
        let probe = &ControllerProbe::Answered;
        let (started, heartbeat) = (Some(before(9_000)), Some(before(1)));
        let signals = AgentSignals { started, heartbeat, probe, quarantine: Some(&quarantine) };
        let health = judge(&signals, Timestamp::from_second(NOW).unwrap());
        assert_eq!((health.healthy, health.state.reason), (healthy, reason));
        let message = format!(
            "{workers} of 2 workers failed several jobs in a row and get none but on trial; last error (ScratchFull): \
             pool-0: no space"
        );
        assert_eq!(health.quarantined, ConditionState::met(Reason::FailingJobs, message));
    }

    #[test]
    fn a_controller_that_does_not_answer_makes_every_node_unhealthy() {
        let health = judged(9_000, Some(1), &ControllerProbe::Failed("it answered 503".to_owned()));
        assert!(!health.healthy);
        assert_eq!(health.state, ConditionState::unmet(Reason::ProbeFailed, "it answered 503"));
    }

    #[test]
    fn the_same_signals_give_the_same_condition_later() {
        // Otherwise every pass would write the status.
        let [early, late] = [100, 200].map(|ago| {
            let (started, heartbeat) = (Some(before(9_000)), Some(before(100)));
            let signals =
                AgentSignals { started, heartbeat, probe: &ControllerProbe::Answered, quarantine: None };
            judge(&signals, Timestamp::from_second(NOW - 100 + ago).unwrap()).state
        });
        assert_eq!(early, late);
    }
}
