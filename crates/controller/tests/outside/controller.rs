//! The real `vmafx-controller` as a child process, and its clients.

use std::ops::{Deref, DerefMut};

use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;
use vmafx_testkit::controller::{ControllerChannel, ControllerConfig, ControllerServer};

use crate::http::Http;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_vmafx-controller");

/// Tokens of the tenant `acme`, each with one role.
pub(crate) const READER: &str = "reader-0123456789abcdef";
pub(crate) const WRITER: &str = "writer-0123456789abcdef";
pub(crate) const NODE: &str = "node-0123456789abcdef";
/// A writer and a node of `acme`.
pub(crate) const ALL: &str = "all-0123456789abcdef";
/// A writer and a node of another tenant.
pub(crate) const STRANGER: &str = "stranger-0123456789abcdef";

const TOKENS: &str = "tokens:
- {token: reader-0123456789abcdef, tenant: acme, roles: ['vmafx:reader']}
- {token: writer-0123456789abcdef, tenant: acme, roles: ['vmafx:writer']}
- {token: node-0123456789abcdef, tenant: acme, roles: ['vmafx:node']}
- {token: all-0123456789abcdef, tenant: acme, roles: ['vmafx:writer', 'vmafx:node']}
- {token: stranger-0123456789abcdef, tenant: other, roles: ['vmafx:writer', 'vmafx:node']}
";

pub(crate) type Client = VmafxControllerClient<ControllerChannel>;

/// A controller that accepts the tokens above.
pub(crate) struct Controller(ControllerServer);

impl Controller {
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        Self::with(config().envs(settings)).await
    }

    pub(crate) async fn with(config: ControllerConfig) -> Self {
        Self(config.start().await.unwrap())
    }

    pub(crate) fn http_with(&self, token: &str) -> Http {
        Http::new(self.http(), Some(token))
    }

    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(self.channel(Some(token)))
    }
}

pub(crate) fn config() -> ControllerConfig {
    ControllerConfig::new(PROGRAM).tokens(TOKENS)
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
