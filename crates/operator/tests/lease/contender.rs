//! One who wants to lead.

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

/// Short enough to wait for.
pub(crate) fn short() -> LeaseSettings {
    settings(2000, 1500, 400)
}

/// So long that no test waits for it: whoever takes over was let in.
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

pub(crate) struct Contender {
    pub(crate) permit: Permit,
    pub(crate) shutdown: Shutdown,
    /// Lets the work end once it was told to; it waits for this only if the contender is slow.
    pub(crate) end: Arc<Notify>,
    metrics: Metrics,
    running: JoinSet<()>,
}

impl Contender {
    pub(crate) fn start(
        config: &kube::Config,
        namespace: &str,
        name: &'static str,
        settings: LeaseSettings,
        journal: &Journal,
    ) -> Self {
        let contender = Self::slow(config, namespace, name, settings, journal);
        contender.end.notify_one();
        contender
    }

    /// One whose work does not end before [`Self::end`] says so.
    pub(crate) fn slow(
        config: &kube::Config,
        namespace: &str,
        name: &'static str,
        settings: LeaseSettings,
        journal: &Journal,
    ) -> Self {
        let mut metrics = Metrics::new("test");
        let client = client::build(config, Permit::always(), &ClientMetrics::new(&mut metrics)).unwrap();
        let told = LeaseMetrics::new(&mut metrics);
        let election = Election::new(client, namespace, settings, name.to_owned(), told);
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

    /// Stops it and waits until it has stopped.
    pub(crate) async fn stop(mut self) -> Metrics {
        self.shutdown.begin();
        while let Some(ended) = self.running.join_next().await {
            ended.unwrap();
        }
        assert!(!self.permit.holds(), "a permit outlived its election");
        self.metrics
    }

    /// Ends it without a word.
    pub(crate) async fn kill(mut self) {
        self.running.shutdown().await;
    }

    /// Waits until it has looked at the lease so many times more.
    pub(crate) async fn looks(&self, times: u64) {
        let goal = self.looked() + times;
        let probe = || async { self.looked() >= goal };
        wait::until(Duration::from_secs(40), "a look at the lease", probe).await.unwrap();
    }

    fn looked(&self) -> u64 {
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

/// Work that tells how it ended.
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
                assert!(!self.2.holds(), "{} may still write although its work is dropped", self.0);
                self.1.write(Dropped(self.0));
            }
        }
    }
    assert!(permit.holds(), "{name} works and may not write");
    journal.write(Began(name));
    let mut guard = Guard(name, journal, permit, false);
    shutdown.begun().await;
    may_end.notified().await;
    assert!(guard.2.holds(), "{name} ends its work and may not write any more");
    guard.3 = true;
    guard.1.write(Ended(name));
    Ok(())
}

pub(crate) async fn record(client: kube::Client, namespace: &str) -> LeaseSpec {
    Api::<Lease>::namespaced(client, namespace).get(NAME).await.unwrap().spec.unwrap()
}
