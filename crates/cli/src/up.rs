//! `vmafx up`: a controller on SQLite and a node, in one process, for one user on one machine.
//!
//! The controller serves the node, also at the end: it stops when the last job is done or given back.

mod args;
mod banner;
mod place;

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
use self::place::Place;
use crate::Exit;
use crate::remote::standing::{Left, Standing, directory, write_private};

/// For calls that are under way when the last job is done.
const DRAIN: GoDuration = GoDuration(Duration::from_secs(10));
/// How long a call of the node may take, to the controller beside it.
const CALL: GoDuration = GoDuration(Duration::from_secs(10));

/// Runs until Ctrl-C, and then until jobs are done or given back.
pub(crate) fn run(args: &UpArgs) -> Result<Exit, BoxError> {
    daemon::run(args.clone(), start)?;
    Ok(Exit::Done)
}

async fn start(mut args: UpArgs, tasks: &mut TaskSet) -> Result<(), BoxError> {
    let room = Place::take(args.data_dir.clone().map_or_else(directory, Ok)?)?;
    let place = room.path();
    // Not in a directory that all users of the machine share.
    args.node.default_scratch_directory(&place.join("scratch"));
    let roots = args.roots()?;
    let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let token_file = write_private(place, "token", token.as_bytes())?;
    let mut left = vec![Left(token_file.clone())];
    let known = format!(
        "tokens: [{{token: {token}, tenant: local, subject: vmafx-up, roles: ['vmafx:writer', 'vmafx:node']}}]\n"
    );
    let known = write_private(place, "tokens.yaml", known.as_bytes())?;
    left.push(Left(known.clone()));

    let controller = Shutdown::new();
    let mut serving = TaskSet::new(controller.clone());
    let settings = controller_settings(&args, place, &known, &roots)?;
    let Addresses { grpc, http } = vmafx_controller::start::serve(settings, &mut serving).await?;
    let grpc = grpc.ok_or("--grpc-listen cannot be 0: the node would have no controller")?;
    tasks.support("controller", |last| async move {
        let (served, ()) = tokio::join!(serving.run(stream::pending(), DRAIN), async {
            // A controller that ends by itself is an error, and ends the wait with it.
            tokio::select! { () = last.begun() => {}, () = controller.begun() => {} }
            controller.begin();
        });
        served
    });

    let channel = ChannelArgs {
        controller_tls: false,
        controller_ca_file: None,
        controller_server_name: None,
        controller_token_file: Some(token_file.clone()),
        controller_token: None,
        controller_rpc_timeout: CALL,
    };
    let config = AgentConfig {
        channel: channel.open(&grpc.to_string().parse()?)?,
        timeouts: AgentTimeouts {
            // Whoever waits at the same machine wants to see cancels and progress at once.
            heartbeat_interval: Duration::from_secs(1),
            pull_wait: Duration::from_secs(30),
            call: CALL.0,
            shutdown_grace: args.node.graceful_shutdown.0,
        },
        launcher: Launcher::new(std::env::current_exe()?),
    };
    let node = vmafx_node::start::run(&args.node, config, &args.node_http_addr, tasks).await?;

    let standing = Standing {
        grpc: grpc.to_string(),
        http: http.map(|http| http.to_string()).unwrap_or_default(),
        token_file,
    };
    left.push(standing.leave(place)?);
    let banner = Banner {
        standing,
        roots,
        device: node.device,
        slots: args.node.slots,
        pages: node.http.map(|http| http.to_string()).unwrap_or_default(),
        jobs: place.join("queue.db"),
    };
    let shutdown = tasks.shutdown();
    tasks.support("banner", |last| async move {
        if shutdown.run_until_begun(node.readiness.ready()).await.is_some() {
            banner.show();
        }
        shutdown.begun().await;
        eprintln!("\nstopping: no new jobs; running ones get their time (Ctrl-C again: at once)");
        last.begun().await;
        drop((left, room));
        Ok::<_, BoxError>(())
    });
    Ok(())
}

/// What this machine's controller is told. The environment is not asked: it may be meant for another.
fn controller_settings(
    args: &UpArgs,
    place: &Path,
    known: &Path,
    roots: &[String],
) -> Result<vmafx_controller::settings::Settings, BoxError> {
    let arguments = [
        "vmafx-controller".into(),
        format!("--http-addr={}", args.http_addr),
        format!("--grpc-listen={}", args.grpc_listen),
        format!("--db-path={}", place.join("queue.db").display()),
        format!("--auth-token-file={}", known.display()),
        format!("--scoring-roots={}", roots.join(",")),
        format!("--http-timeouts-shutdown={DRAIN}"),
        "--node-status=false".into(),
    ];
    parse(arguments, &Environment::default(), &[]).map_err(|stop| match stop {
        ParseExit::HelpOrVersion(text) => text.to_string().into(),
        ParseExit::Invalid(refusal) => refusal.into(),
    })
}
