//! `vmafx-controller`: keeps scoring jobs and hands them to nodes.

use std::process::ExitCode;

use vmafx_controller::settings::Settings;
use vmafx_controller::start::start;
use vmafx_kit::daemon;

fn main() -> ExitCode {
    daemon::main::<Settings, _>(start)
}
