//! `vmafx up`: a controller on SQLite and a node, in one process, for one user on one machine.
//!
//! At shutdown the controller serves the node until the last job has ended or was released, and stops then.

mod args;
mod banner;
mod data_directory;

use std::path::Path;
use std::time::Duration;

use futures::stream;
use uuid::Uuid;
use vmafx_controller::start::Addresses;
use vmafx_kit::channel::ChannelArgs;
use vmafx_kit::config::{Environment, GoDuration, ParseExit, parse};
use vmafx_kit::daemon;
use vmafx_kit::tasks::{BoxError, Shutdown, TaskSet};
use vmafx_node::agent::AgentTimeouts;
use vmafx_node::launch::Launcher;
use vmafx_node::start::AgentConfig;

pub use self::args::UpArgs;
use self::banner::Banner;
use self::data_directory::DataDirectory;
use crate::Exit;
use crate::remote::local_controller::{LocalController, PublishedFile, state_directory, write_private};

/// Time for calls that are in progress when the controller stops.
const DRAIN_TIMEOUT: GoDuration = GoDuration(Duration::from_secs(10));
/// Timeout of the node's calls to the controller in the same process.
const CALL_TIMEOUT: GoDuration = GoDuration(Duration::from_secs(10));

/// Runs until Ctrl-C, then until all running jobs have ended or were released.
pub(crate) fn run(args: &UpArgs) -> Result<Exit, BoxError> {
    daemon::run(args.clone(), start)?;
    Ok(Exit::Done)
}

async fn start(mut args: UpArgs, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let data_directory = DataDirectory::lock(args.data_dir.clone().map_or_else(state_directory, Ok)?)?;
    let path = data_directory.path();
    // The node's own default is below /tmp, which all users of the machine share.
    args.node.default_scratch_directory(&path.join("scratch"));
    args.node.permit_local_registries();
    let roots = args.roots()?;
    let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let token_file = write_private(path, "token", token.as_bytes())?;
    let mut files = vec![PublishedFile(token_file.clone())];
    let tokens = format!(
        "tokens: [{{token: {token}, tenant: local, subject: vmafx-up, roles: ['vmafx:writer', 'vmafx:node']}}]\n"
    );
    let tokens = write_private(path, "tokens.yaml", tokens.as_bytes())?;
    files.push(PublishedFile(tokens.clone()));

    let controller_shutdown = Shutdown::new();
    let mut serving = TaskSet::new(controller_shutdown.clone());
    let settings = controller_settings(&args, path, &tokens, &roots)?;
    let Addresses { grpc, http } = vmafx_controller::start::serve(settings, &mut serving).await?;
    let grpc = grpc.ok_or("--grpc-listen cannot be 0: the node needs the gRPC service")?;
    tasks.support("controller", |node_stopped| async move {
        let (served, ()) = tokio::join!(serving.run(stream::pending(), DRAIN_TIMEOUT), async {
            // A controller that fails begins its own shutdown, and must not be waited for.
            tokio::select! { () = node_stopped.begun() => {}, () = controller_shutdown.begun() => {} }
            controller_shutdown.begin();
        });
        served
    });

    let channel = ChannelArgs {
        controller_tls: false,
        controller_ca_file: None,
        controller_cert_file: None,
        controller_key_file: None,
        controller_server_name: None,
        controller_token_file: Some(token_file.clone()),
        controller_token: None,
        controller_rpc_timeout: CALL_TIMEOUT,
    };
    let config = AgentConfig {
        channel: channel.open(&grpc.to_string().parse()?)?,
        timeouts: AgentTimeouts {
            // The user watches the jobs on the same machine: progress and cancellations should show at once.
            heartbeat_interval: Duration::from_secs(1),
            pull_wait: Duration::from_secs(30),
            call: CALL_TIMEOUT.0,
            shutdown_grace: args.node.graceful_shutdown.0,
        },
        launcher: Launcher::new(std::env::current_exe()?),
    };
    let node = vmafx_node::start::run(&args.node, config, &args.node_http_addr, tasks).await?;
    if let Some(refused) = node.refused {
        return Err(refused.into());
    }

    let controller = LocalController {
        grpc: grpc.to_string(),
        http: http.map(|http| http.to_string()).unwrap_or_default(),
        token_file,
    };
    files.push(controller.publish(path)?);
    let banner = Banner {
        controller,
        roots,
        device: node.device,
        slots: args.node.slots,
        node_http: node.http.map(|http| http.to_string()).unwrap_or_default(),
        database: path.join("queue.db"),
    };
    let shutdown = tasks.shutdown();
    tasks.support("banner", |node_stopped| async move {
        if shutdown.run_until_begun(node.readiness.ready()).await.is_some() {
            // Standard output is for results, of which this command has none.
            eprint!("{banner}");
        }
        shutdown.begun().await;
        eprintln!("\nstopping: waiting for running jobs; press Ctrl-C again to stop at once");
        node_stopped.begun().await;
        drop((files, data_directory));
        Ok::<_, BoxError>(())
    });
    Ok(())
}

/// The settings of the controller. `VMAFX_*` variables are ignored: they may be meant for another controller.
fn controller_settings(
    args: &UpArgs,
    data_directory: &Path,
    tokens: &Path,
    roots: &[String],
) -> Result<vmafx_controller::settings::Settings, BoxError> {
    let arguments = [
        "vmafx-controller".into(),
        format!("--http-addr={}", args.http_addr),
        format!("--grpc-listen={}", args.grpc_listen),
        format!("--db-path={}", data_directory.join("queue.db").display()),
        format!("--auth-token-file={}", tokens.display()),
        format!("--scoring-roots={}", roots.join(",")),
        format!("--http-timeouts-shutdown={DRAIN_TIMEOUT}"),
        "--node-status=false".into(),
    ];
    parse(arguments, &Environment::default(), &[]).map_err(|exit| match exit {
        ParseExit::HelpOrVersion(text) => text.to_string().into(),
        ParseExit::Invalid(error) => error.into(),
    })
}
