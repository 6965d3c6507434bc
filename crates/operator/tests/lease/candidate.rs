//! A candidate for leadership, whose work records in a journal how it ran.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use vmafx_kit::metrics::Metrics;
use vmafx_kit::tasks::Shutdown;
use vmafx_operator::client::{self, ClientMetrics};
use vmafx_operator::lease::{Election, LeaseMetrics, LeaseSettings, Permit};
use vmafx_testkit::wait;

use crate::journal::{Began, Dropped, Ended, Journal};

pub(crate) const NAME: &str = "vmafx-operator.vmafx.dev";

/// Durations short enough that a test can wait for the lease to expire.
pub(crate) fn short() -> LeaseSettings {
    settings(2000, 1500, 400)
}

/// A lease that outlasts every test: a candidate that takes over did not wait for it to expire.
pub(crate) fn long() -> LeaseSettings {
    settings(600_000, 500_000, 400)
}

fn settings(lease: u64, renew: u64, retry: u64) -> LeaseSettings {
    LeaseSettings {
        name: NAME.to_owned(),
        lease_duration: Duration::from_millis(lease),
        renew_deadline: Duration::from_millis(renew),
        retry_period: Duration::from_millis(retry),
    }
}

pub(crate) struct Candidate {
    pub(crate) permit: Permit,
    pub(crate) shutdown: Shutdown,
    /// Lets the work of a slow candidate end after its shutdown has begun.
    pub(crate) end: Arc<Notify>,
    metrics: Metrics,
    running: JoinSet<()>,
}

impl Candidate {
    pub(crate) fn start(
        config: &kube::Config,
        namespace: &str,
        name: &'static str,
        settings: LeaseSettings,
        journal: &Journal,
    ) -> Self {
        let candidate = Self::slow(config, namespace, name, settings, journal);
        candidate.end.notify_one();
        candidate
    }

    /// A candidate whose work does not end before [`Self::end`] is notified.
    pub(crate) fn slow(
        config: &kube::Config,
        namespace: &str,
        name: &'static str,
        settings: LeaseSettings,
        journal: &Journal,
    ) -> Self {
        let mut metrics = Metrics::new("test");
        let client = client::build(config, Permit::always(), &ClientMetrics::new(&mut metrics)).unwrap();
        let lease_metrics = LeaseMetrics::new(&mut metrics);
        let election = Election::new(client, namespace, settings, name.to_owned(), lease_metrics);
        let (permit, shutdown, end) = (election.permit(), Shutdown::new(), Arc::new(Notify::new()));
        let mut running = JoinSet::new();
        let (journal, stop, may_end, own) =
            (journal.clone(), shutdown.clone(), Arc::clone(&end), permit.clone());
        running.spawn(async move {
            let work =
                |shutdown: Shutdown| work(name, shutdown, journal.clone(), own.clone(), may_end.clone());
            election.lead(stop, work).await.unwrap_or_else(|never| match never {});
        });
        Self { permit, shutdown, end, metrics, running }
    }

    pub(crate) async fn stop(mut self) -> Metrics {
        self.shutdown.begin();
        while let Some(ended) = self.running.join_next().await {
            ended.unwrap();
        }
        assert!(!self.permit.holds(), "a permit outlived its election");
        self.metrics
    }

    /// Drops the election and its work, so that the lease is not released.
    pub(crate) async fn kill(mut self) {
        self.running.shutdown().await;
    }

    /// Waits until it has read the lease this many times more.
    pub(crate) async fn wait_for_reads(&self, times: u64) {
        let goal = self.reads() + times;
        let probe = || async { self.reads() >= goal };
        wait::until(Duration::from_secs(40), "reads of the lease", probe).await.unwrap();
    }

    fn reads(&self) -> u64 {
        self.count("vmafx_operator_api_requests_total{verb=\"get\",kind=\"leases\",code=\"2xx\"} ")
    }

    pub(crate) fn count(&self, series: &str) -> u64 {
        count(&self.metrics, series)
    }
}

pub(crate) fn count(metrics: &Metrics, series: &str) -> u64 {
    let page = metrics.encode().unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix(series));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

/// Work that records in the journal how it ended.
async fn work(
    name: &'static str,
    shutdown: Shutdown,
    journal: Journal,
    permit: Permit,
    may_end: Arc<Notify>,
) -> Result<(), Infallible> {
    struct Guard(&'static str, Journal, Permit, bool);
    impl Drop for Guard {
        fn drop(&mut self) {
            if !self.3 {
                assert!(!self.2.holds(), "{} still has a permit although its work is dropped", self.0);
                self.1.write(Dropped(self.0));
            }
        }
    }
    assert!(permit.holds(), "{name} works without a permit");
    journal.write(Began(name));
    let mut guard = Guard(name, journal, permit, false);
    shutdown.begun().await;
    may_end.notified().await;
    assert!(guard.2.holds(), "{name} lost its permit before its work ended");
    guard.3 = true;
    guard.1.write(Ended(name));
    Ok(())
}

pub(crate) async fn record(client: kube::Client, namespace: &str) -> LeaseSpec {
    Api::<Lease>::namespaced(client, namespace).get(NAME).await.unwrap().spec.unwrap()
}
