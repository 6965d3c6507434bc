//! `vmafx models`: which models there are, what one is, and how two of them differ.
//!
//! | module                       | holds                                                              |
//! |------------------------------|--------------------------------------------------------------------|
//! | [`versions`], [`source`]     | checkpoints of a repository; a model by any of its names           |
//! | [`list`], [`inspect`], [`diff`] | the three commands                                              |
//! | [`chart`], [`plot`], [`page`] | accuracy over samples: the numbers, for a terminal, for a browser |

mod chart;
mod compare;
mod diff;
mod document;
mod error;
mod inspect;
mod lineage;
mod list;
mod page;
mod plot;
mod source;
mod versions;

use clap::{Args, Subcommand};
use vmafx_oci::{RegistryClient, RegistryCredentials};

pub use error::ModelsError;

use crate::{Error, Exit};

/// Show models: the built-in ones, files, and what was learned and lies in a registry.
#[derive(Args, Clone, Debug)]
pub struct ModelsArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    List(Box<list::ListArgs>),
    Inspect(Box<inspect::InspectArgs>),
    Diff(Box<diff::DiffArgs>),
}

/// How registries are asked.
#[derive(Args, Clone, Debug)]
pub(crate) struct RegistryArgs {
    /// Registries without TLS, as host:port; those on this machine need not be listed
    #[arg(long, value_name = "HOST", env = "VMAFX_OCI_PLAIN_HTTP", value_delimiter = ',')]
    #[arg(help_heading = "Registry")]
    oci_plain_http: Vec<String>,
}

impl RegistryArgs {
    /// Credentials are docker's: `DOCKER_CONFIG`, or `~/.docker`.
    fn client(&self) -> Result<RegistryClient, ModelsError> {
        let client = RegistryClient::new(RegistryCredentials::of_process(), self.oci_plain_http.clone());
        client.map_err(|source| ModelsError::Registry { what: "registries".to_owned(), source })
    }
}

pub(crate) async fn run(args: &ModelsArgs) -> Result<Exit, Error> {
    match &args.what {
        What::List(args) => list::run(args).await,
        What::Inspect(args) => inspect::run(args).await,
        What::Diff(args) => diff::run(args).await,
    }
}
