//! The real controller as a child process, and its jobs.

use std::ops::{Deref, DerefMut};

use vmafx_proto::controller::v1 as wire;
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::{ControllerChannel, ControllerConfig, ControllerServer};

use crate::TIMEOUT;

vmafx_testkit::controller_in_test_program!();

/// Authorized for every call.
pub(crate) const TOKEN: &str = "all-0123456789abcdef";

const TOKENS: &str =
    "tokens: [{token: all-0123456789abcdef, tenant: acme, roles: ['vmafx:writer', 'vmafx:node']}]\n";

pub(crate) type Client = VmafxControllerClient<ControllerChannel>;

pub(crate) struct Controller(ControllerServer);

impl Controller {
    pub(crate) async fn start() -> Self {
        Self::with(|config| config).await
    }

    /// With further settings.
    pub(crate) async fn with(settings: impl FnOnce(ControllerConfig) -> ControllerConfig) -> Self {
        Self(settings(controller_config().tokens(TOKENS)).start().await.unwrap())
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.channel(Some(TOKEN)))
    }

    /// All jobs, oldest first.
    pub(crate) async fn jobs(&self) -> Vec<wire::Job> {
        let (mut jobs, mut client) = (Vec::new(), self.client());
        let mut request = wire::ListJobsRequest { page_size: 1000, ..wire::ListJobsRequest::default() };
        loop {
            let page = client.list_jobs(request.clone()).await.unwrap().into_inner();
            jobs.extend(page.jobs);
            if page.next_page_token.is_empty() {
                return jobs;
            }
            request.page_token = page.next_page_token;
        }
    }

    /// Changes the store directly, so that the controller announces nothing.
    pub(crate) fn change_behind_its_back(&self, statement: &str) {
        let store = rusqlite::Connection::open(self.directory().join("store/queue.db")).unwrap();
        store.busy_timeout(TIMEOUT).unwrap();
        assert!(store.execute(statement, []).unwrap() > 0, "{statement}");
    }

    /// Jobs that are pending or running.
    pub(crate) async fn open_jobs(&self) -> Vec<wire::Job> {
        let open = [wire::JobStatus::Pending, wire::JobStatus::Running];
        self.jobs().await.into_iter().filter(|job| open.contains(&job.status())).collect()
    }
}

impl Deref for Controller {
    type Target = ControllerServer;
    fn deref(&self) -> &ControllerServer {
        &self.0
    }
}

impl DerefMut for Controller {
    fn deref_mut(&mut self) -> &mut ControllerServer {
        &mut self.0
    }
}
