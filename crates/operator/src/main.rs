//! `vmafx-operator`: reconciles the custom resources of VMAFX.

use std::process::ExitCode;

use vmafx_kit::daemon;
use vmafx_operator::settings::Settings;
use vmafx_operator::start::start;

fn main() -> ExitCode {
    daemon::main::<Settings, _>(start)
}
