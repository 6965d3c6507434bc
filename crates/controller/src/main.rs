//! `vmafx-controller`: stores scoring jobs and assigns them to nodes.

use std::process::ExitCode;

use vmafx_controller::settings::Settings;
use vmafx_controller::start::start;
use vmafx_kit::daemon;

/// Requests are allocated on one thread and freed on another, which is slow with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    daemon::main::<Settings, _>(start)
}
