//! The controller, as every command reaches it that is not about this machine alone.
//!
//! An address that is given by flag or variable is used with the token and certificates beside it. Without one, the
//! controller that `vmafx up` runs on this machine is used, with the token it wrote for this user.

pub(crate) mod standing;
mod trouble;
pub(crate) mod watch;

use clap::Args;
use vmafx_kit::channel::{ChannelArgs, ChannelError, GrpcChannel};
use vmafx_kit::config::{AddrError, HostPort};
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;

use self::standing::{Standing, StandingError};
pub use self::trouble::Refused;

/// Calls to the controller.
pub(crate) type Client = VmafxControllerClient<GrpcChannel>;

/// Which controller, and who is calling.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Controller")]
pub struct RemoteArgs {
    /// The controller, as host:port of its gRPC service; the one of `vmafx up` by default
    #[arg(long, env = "VMAFX_CONTROLLER_ADDR", value_name = "HOST:PORT")]
    pub controller_addr: Option<HostPort>,

    #[command(flatten)]
    channel: ChannelArgs,
}

/// Why there was no answer, or not the one that was hoped for.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Nobody to talk to.
    #[error(
        "no controller is named, and none runs on this machine: start one with `vmafx up`, or set \
         VMAFX_CONTROLLER_ADDR"
    )]
    Nobody,
    /// What `vmafx up` wrote cannot be read.
    #[error(transparent)]
    Standing(#[from] StandingError),
    /// What `vmafx up` wrote is no address.
    #[error("the address that `vmafx up` wrote cannot be used: start it again")]
    Address(#[from] AddrError),
    /// Settings that cannot be used.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The controller said no, or nothing.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl RemoteArgs {
    /// The calls. Nothing is connected before the first one.
    pub(crate) fn client(&self) -> Result<Client, RemoteError> {
        if let Some(address) = &self.controller_addr {
            return Ok(VmafxControllerClient::new(self.channel.open(address)?));
        }
        let standing = Standing::find()?.ok_or(RemoteError::Nobody)?;
        let token = self.channel.controller_token.is_none().then_some(standing.token_file);
        let own = ChannelArgs {
            controller_token_file: self.channel.controller_token_file.clone().or(token),
            ..self.channel.clone()
        };
        Ok(VmafxControllerClient::new(own.open(&standing.grpc.parse()?)?))
    }
}
