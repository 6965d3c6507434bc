//! The connection to a controller, for the commands that call one.
//!
//! An address from the flag or the environment is used with the token and the certificates that are set beside it.
//! Without an address, the commands use the controller that `vmafx up` runs on this machine, with the token that it
//! wrote for this user.

pub(crate) mod local_controller;
mod rpc_error;
pub(crate) mod watch;

use clap::Args;
use vmafx_kit::channel::{ChannelArgs, ChannelError, GrpcChannel};
use vmafx_kit::config::{AddrError, HostPorts};
use vmafx_proto::controller::v1::vmafx_controller_client::VmafxControllerClient;

use self::local_controller::{LocalController, StateFileError};
pub use self::rpc_error::RpcError;

pub(crate) type Client = VmafxControllerClient<GrpcChannel>;

/// The controller to call, and the credentials for it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Controller")]
pub struct RemoteArgs {
    /// Addresses of the controller's gRPC service, separated by commas; by default the controller of `vmafx up` on this
    /// machine
    #[arg(long, env = "VMAFX_CONTROLLER_ADDR", value_name = "HOST:PORT,…")]
    pub controller_addr: Option<HostPorts>,

    #[command(flatten)]
    channel: ChannelArgs,
}

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error(
        "no controller is configured, and none runs on this machine: start one with `vmafx up`, or set \
         VMAFX_CONTROLLER_ADDR"
    )]
    NoController,
    #[error(transparent)]
    StateFile(#[from] StateFileError),
    #[error("the file of `vmafx up` contains an invalid address: restart `vmafx up`")]
    Address(#[from] AddrError),
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error(transparent)]
    Rpc(#[from] RpcError),
}

impl RemoteArgs {
    /// A client for the controller. It connects with the first call.
    pub(crate) fn client(&self) -> Result<Client, RemoteError> {
        if let Some(address) = &self.controller_addr {
            return Ok(VmafxControllerClient::new(self.channel.open(address)?));
        }
        let local = LocalController::find()?.ok_or(RemoteError::NoController)?;
        let token = self.channel.controller_token.is_none().then_some(local.token_file);
        let channel = ChannelArgs {
            controller_token_file: self.channel.controller_token_file.clone().or(token),
            ..self.channel.clone()
        };
        Ok(VmafxControllerClient::new(channel.open(&local.grpc.parse()?)?))
    }
}
