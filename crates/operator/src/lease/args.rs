//! The settings of leader election, validated at start.

use std::time::Duration;

use vmafx_kit::config::{GoDuration, SettingsError};

use crate::controllers::ReconciledKinds;

const LEASE_DURATION: &str = "VMAFX_OPERATOR_LEADER_ELECTION_LEASE_DURATION";
const RENEW_DEADLINE: &str = "VMAFX_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE";
const RETRY_PERIOD: &str = "VMAFX_OPERATOR_LEADER_ELECTION_RETRY_PERIOD";

/// The record holds whole seconds.
const MIN_LEASE: GoDuration = GoDuration(Duration::from_secs(1));

const MIN_RETRY: GoDuration = GoDuration(Duration::from_millis(100));

/// Flattened into the operator's settings.
#[derive(Clone, Debug, clap::Args)]
pub struct LeaseArgs {
    /// Reconcile only while this operator holds the lease, for several replicas.
    #[arg(long, env = "VMAFX_OPERATOR_LEADER_ELECTION")]
    pub leader_election: bool,

    /// Name of the lease, in the operator's namespace; by default vmafx-operator.vmafx.dev, with the kinds in it if the
    /// operator reconciles only some.
    #[arg(long, env = "VMAFX_OPERATOR_LEADER_ELECTION_ID", value_name = "NAME")]
    pub leader_election_id: Option<String>,

    /// Time after which other replicas take over from a leader that does not renew its lease.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_LEADER_ELECTION_LEASE_DURATION",
        value_name = "DURATION",
        default_value = "15s"
    )]
    pub leader_election_lease_duration: GoDuration,

    /// Time after which a leader that cannot renew its lease stops reconciling.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE",
        value_name = "DURATION",
        default_value = "10s"
    )]
    pub leader_election_renew_deadline: GoDuration,

    /// Interval between renewals of the lease.
    #[arg(
        long,
        env = "VMAFX_OPERATOR_LEADER_ELECTION_RETRY_PERIOD",
        value_name = "DURATION",
        default_value = "2s"
    )]
    pub leader_election_retry_period: GoDuration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    pub name: String,
    /// Time after which others take over from a leader that does not renew.
    pub lease_duration: Duration,
    /// Time after which a leader that cannot renew gives up.
    pub renew_deadline: Duration,
    /// Interval between renewals.
    pub retry_period: Duration,
}

impl LeaseArgs {
    /// `None` if leader election is off. Bad durations are refused either way, so that they do not surprise on the day it is
    /// turned on.
    pub fn settings(&self, kinds: &ReconciledKinds) -> Result<Option<LeaseSettings>, SettingsError> {
        let (lease, renew, retry) = (
            self.leader_election_lease_duration,
            self.leader_election_renew_deadline,
            self.leader_election_retry_period,
        );
        let refused = |variable: &str, value: GoDuration, reason: String| {
            Err(SettingsError::Value { variable: variable.to_owned(), value: value.to_string(), reason })
        };
        if lease < MIN_LEASE {
            return refused(LEASE_DURATION, lease, format!("at least {MIN_LEASE} is needed"));
        }
        if retry < MIN_RETRY {
            return refused(RETRY_PERIOD, retry, format!("at least {MIN_RETRY} is needed"));
        }
        if lease <= renew {
            let reason = format!(
                "a leader must give up before others take over: less than {lease} is needed, the value of {LEASE_DURATION}"
            );
            return refused(RENEW_DEADLINE, renew, reason);
        }
        if renew.0 <= retry.0.saturating_mul(6) / 5 {
            let reason = format!(
                "a renewal must be tried more than once: more than 1.2 times {retry} is needed, the value of {RETRY_PERIOD}"
            );
            return refused(RENEW_DEADLINE, renew, reason);
        }
        Ok(self.leader_election.then(|| LeaseSettings {
            name: self.leader_election_id.clone().unwrap_or_else(|| kinds.lease()),
            lease_duration: lease.0,
            renew_deadline: renew.0,
            retry_period: retry.0,
        }))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;
    use vmafx_kit::config::{Environment, parse};

    use super::*;
    use crate::controllers::ReconciledKind;

    #[derive(Debug, Parser)]
    struct Settings {
        #[command(flatten)]
        lease: LeaseArgs,
    }

    fn settings(variables: &[(&str, &str)]) -> Result<Option<LeaseSettings>, SettingsError> {
        let env: Environment = variables.iter().copied().collect();
        parse::<Settings>(["vmafx-operator"], &env, &[])
            .unwrap()
            .lease
            .settings(&ReconciledKinds::new(&ReconciledKind::ALL))
    }

    #[test]
    fn leader_election_is_off_by_default() {
        assert_eq!(settings(&[]), Ok(None));
    }

    #[test]
    fn the_defaults_are_those_of_go_controllers() {
        let expected = LeaseSettings {
            name: "vmafx-operator.vmafx.dev".to_owned(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        };
        assert_eq!(settings(&[("VMAFX_OPERATOR_LEADER_ELECTION", "true")]), Ok(Some(expected)));
    }

    #[rstest]
    #[case::others_before_the_leader("10s", "10s", "2s", RENEW_DEADLINE)]
    #[case::one_try_only("15s", "2.4s", "2s", RENEW_DEADLINE)]
    #[case::less_than_the_record_can_say("900ms", "800ms", "200ms", LEASE_DURATION)]
    #[case::no_pause("15s", "10s", "0", RETRY_PERIOD)]
    fn durations_that_cannot_work_are_refused(
        #[case] lease: &str,
        #[case] renew: &str,
        #[case] retry: &str,
        #[case] blamed: &str,
    ) {
        let refusal = settings(&[(LEASE_DURATION, lease), (RENEW_DEADLINE, renew), (RETRY_PERIOD, retry)]);
        let Err(SettingsError::Value { variable, .. }) = refusal else { panic!("{refusal:?}") };
        assert_eq!(variable, blamed);
    }

    #[test]
    fn a_refusal_says_what_to_change() {
        let refusal = settings(&[(RENEW_DEADLINE, "20s")]).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "VMAFX_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE cannot be \"20s\": a leader must give up before others take \
             over: less than 15s is needed, the value of VMAFX_OPERATOR_LEADER_ELECTION_LEASE_DURATION"
        );
    }
}
