//! `vmafx-controller`: keeps scoring jobs and hands them to nodes.

use std::process::ExitCode;

use vmafx_controller::settings::Settings;
use vmafx_controller::start::start;
use vmafx_kit::daemon;

/// Requests are read on one thread and answered from another, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    daemon::main::<Settings, _>(start)
}
