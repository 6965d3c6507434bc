//! Ctrl-C as a token that work looks at.
//!
//! The first Ctrl-C asks the work to stop: it ends its decoders and leaves no file behind. Work that does not stop is
//! left by the second one.

use std::{io, process, thread};

use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by Ctrl-C or a request to terminate.
pub(crate) fn token() -> io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    // Before anything starts that would have to be stopped: a signal from here on is not lost.
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
