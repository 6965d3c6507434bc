//! Ctrl-C as a cancellation token.
//!
//! The first SIGINT or SIGTERM cancels the token: scoring stops its decoders and leaves no file behind. The second one
//! exits the process at once.

use std::{io, process, thread};

use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub(crate) fn token() -> io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    // The handlers are installed before this function returns, so that no later signal is lost.
    let (mut interrupt, mut terminate) = {
        let _guard = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let cancelled = token.clone();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            for round in 0.. {
                tokio::select! { _ = interrupt.recv() => (), _ = terminate.recv() => () }
                if round > 0 {
                    process::exit(130);
                }
                cancelled.cancel();
            }
        });
    })?;
    Ok(token)
}
