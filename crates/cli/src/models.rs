//! `vmafx models`: lists, inspects and compares models.
//!
//! | module                          | holds                                                                     |
//! |---------------------------------|---------------------------------------------------------------------------|
//! | [`checkpoints`], [`source`]     | the checkpoints of a repository; a model from a registry, a name or a file |
//! | [`list`], [`inspect`], [`diff`] | the three commands                                                        |
//! | [`chart`], [`plot`], [`html`]   | accuracy over samples: the data, the terminal plot, the HTML page         |

mod chart;
mod checkpoints;
mod compare;
mod diff;
mod document;
mod error;
mod html;
mod inspect;
mod lineage;
mod list;
mod plot;
mod source;

use clap::{Args, Subcommand};
use vmafx_oci::{RegistryClient, RegistryCredentials};

pub use error::ModelsError;

use crate::{Error, Exit};

/// List, inspect and compare models: built-in ones, files, and checkpoints in a registry.
#[derive(Args, Clone, Debug)]
pub struct ModelsArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    List(Box<list::ListArgs>),
    Inspect(Box<inspect::InspectArgs>),
    Diff(Box<diff::DiffArgs>),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RegistryArgs {
    /// Registries to reach without TLS, as host:port; those on this machine need not be listed
    #[arg(long, value_name = "HOST", env = "VMAFX_OCI_PLAIN_HTTP", value_delimiter = ',')]
    #[arg(help_heading = "Registry")]
    oci_plain_http: Vec<String>,
}

impl RegistryArgs {
    /// The client uses the credentials of Docker, from `DOCKER_CONFIG` or `~/.docker`.
    fn client(&self) -> Result<RegistryClient, ModelsError> {
        let client = RegistryClient::new(RegistryCredentials::of_process(), self.oci_plain_http.clone());
        client.map_err(|source| ModelsError::Registry { resource: "registries".to_owned(), source })
    }
}

pub(crate) async fn run(args: &ModelsArgs) -> Result<Exit, Error> {
    match &args.command {
        Command::List(args) => list::run(args).await,
        Command::Inspect(args) => inspect::run(args).await,
        Command::Diff(args) => diff::run(args).await,
    }
}
