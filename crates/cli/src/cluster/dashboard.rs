//! `dashboard`: the controller's dashboard in the browser, through a port-forward of our own that signs in by itself.
//!
//! ```text
//! browser ──HTTP, 127.0.0.1──▶ guard ─▶ proxy ──TLS in the port-forward of the API server──▶ controller
//!            cookie of this run          Authorization: Bearer
//! ```
//!
//! | file         | holds                                                                     |
//! |--------------|---------------------------------------------------------------------------|
//! | `guard`      | which requests of the browser may use the caller's rights                 |
//! | `proxy`      | the HTTP server, which passes on requests and responses                   |
//! | `session`    | what the controller says about the caller, and what the page is told       |
//! | `target`     | the controller in the cluster: its Service, Pod and authority              |
//! | `tunnel`     | connections to it                                                         |
//! | `token`      | the token of the caller                                                   |
//! | `browser`    | opening the browser                                                       |

mod browser;
mod error;
mod guard;
mod proxy;
mod session;
mod target;
mod token;
mod tunnel;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tokio::net::TcpListener;
use vmafx_kit::serve;
use vmafx_kit::tasks::Shutdown;

pub use self::error::DashboardError;
use self::guard::Guard;
use self::proxy::Proxy;
use self::session::AccessCheck;
use self::target::{ControllerService, TargetCache};
use self::token::{AccountName, TokenSource};
use super::connection::ConnectionArgs;
use crate::{Error, Exit, output};

/// Open the dashboard of the cluster's controller in the browser.
///
/// Forwards a port of this machine to the controller, signs in, and opens the browser. It needs no certificate and no
/// password: the API server carries the connection, and the requests get the token of a ServiceAccount or of a file. Only the
/// browser that opened the printed address can use it. Runs until Ctrl-C, and connects again when the controller restarts.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  kubectl vmafx dashboard --service-account video/reviewer
      Open the dashboard with the rights of a ServiceAccount, to which auth.subjects of the chart gives a role.
  kubectl vmafx dashboard --token-file ~/.vmafx-token --no-browser --port 8443
      Print the address only, and sign in with a token of your own issuer.

It needs the permission to list Services, to list Pods and get and create pods/portforward in the controller's namespace,
and to create serviceaccounts/token for the ServiceAccount.")]
pub(super) struct DashboardArgs {
    /// Port on 127.0.0.1; 0 selects a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// Print the address, and do not open it
    #[arg(long)]
    no_browser: bool,

    /// ServiceAccount whose rights the dashboard has; its namespace is that of -n by default
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    service_account: Option<AccountName>,

    /// Audience of the ServiceAccount's token: auth.audience of the chart
    #[arg(long, value_name = "AUDIENCE", default_value = "vmafx-controller")]
    audience: String,

    /// File with a token for the controller, instead of a ServiceAccount; it is read again when it changes
    #[arg(long, value_name = "FILE", conflicts_with = "service_account")]
    token_file: Option<PathBuf>,

    /// Namespace of the controller; all namespaces are searched by default
    #[arg(long, value_name = "NAMESPACE")]
    controller_namespace: Option<String>,

    /// File with the certificate authority of the controller; by default that of the operator's ConfigMap
    #[arg(long, value_name = "FILE")]
    controller_ca_file: Option<PathBuf>,
}

pub(super) async fn run(args: &DashboardArgs, connection: &ConnectionArgs) -> Result<Exit, Error> {
    let (proxy, listener) = open(args, connection).await?;
    output::print(&format!("{}\n", proxy.guard().printed_address()))?;
    eprintln!(
        "Open this address in a browser of your own: it signs in whoever opens it. Press Ctrl-C to stop."
    );
    if !args.no_browser && !browser::open(&proxy.guard().opened_address()) {
        eprintln!("No browser could be started; open the address yourself.");
    }
    let served = serve::serve(listener, Arc::new(proxy).router(), Shutdown::new()).await;
    served.map_err(|source| DashboardError::Listen { port: args.port, source })?;
    Ok(Exit::Done)
}

/// Listens, and connects to the controller.
async fn open(
    args: &DashboardArgs,
    connection: &ConnectionArgs,
) -> Result<(Proxy, TcpListener), DashboardError> {
    let cluster = connection.connect().await?;
    let service = ControllerService::find(&cluster, args.controller_namespace.as_deref()).await?;
    let address = (Ipv4Addr::LOCALHOST, args.port);
    let listen_error = |source| DashboardError::Listen { port: args.port, source };
    let listener = TcpListener::bind(address).await.map_err(listen_error)?;
    let port = listener.local_addr().map_err(listen_error)?.port();

    let name = service.to_string();
    let target = TargetCache::new(cluster.clone(), service, args.controller_ca_file.clone());
    let tokens = TokenSource::new(&cluster, args);
    let proxy = Proxy::new(Guard::new(port), target, tokens);
    match proxy.check_access().await? {
        AccessCheck::Anonymous => eprintln!("Connected to {name}, which needs no token."),
        AccessCheck::SignedIn { subject, roles } => {
            eprintln!("Connected to {name} as {subject} ({}).", roles.join(", "));
        }
    }
    Ok((proxy, listener))
}
