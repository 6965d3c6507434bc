//! `make test`: all tests of the workspace, with one shared Kubernetes control plane, or one that runs by its name only.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions, KUBECONFIG_VARIABLE};

use crate::{tools, workspace};

/// Builds the tests, starts the control plane and runs the tests. `extra` are arguments for `cargo test`.
pub(crate) fn run(extra: &[String]) -> Result<()> {
    cargo(&["test", "--workspace", "--locked", "--no-run"], &[])?;
    let runtime = tokio::runtime::Runtime::new()?;
    let plane = runtime.block_on(ControlPlane::start(ControlPlaneOptions::default()))?;
    println!("kubeconfig of the tests: {}", plane.kubeconfig_path().display());
    let arguments = ["test", "--workspace", "--locked"].into_iter().chain(extra.iter().map(String::as_str));
    let kubeconfig = plane.kubeconfig_path().display().to_string();
    let ffmpeg = tools::ffmpeg().map(|path| path.display().to_string());
    let environment = [(KUBECONFIG_VARIABLE, Some(&kubeconfig)), (tools::FFMPEG_VARIABLE, ffmpeg.as_ref())];
    let environment = environment.into_iter().filter_map(|(name, value)| Some((name, value?.as_str())));
    let environment: Vec<_> = environment.collect();
    let mut outcome = cargo(&arguments.collect::<Vec<_>>(), &environment);
    // Arguments may select tests, so the long ones run only without arguments, and one at a time, because each uses the
    // whole machine.
    if extra.is_empty() && outcome.is_ok() {
        let mut tests = LONG_TESTS.iter();
        outcome = tests.try_for_each(|test| run_ignored(&["--test", test], &SINGLE_THREADED, &environment));
    }
    drop(plane);
    outcome
}

/// Tests that `make test` leaves out. `docs/releasing.md` says when they run.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NamedTest {
    /// Compare our kernels with libvmaf on random clips, for an hour.
    Differential,
    /// Run the tests of the kernels with `AddressSanitizer`.
    MemorySafety,
    /// Print what a node pays for the check of its kernels.
    CheckCost,
    /// Print how fast one and two threads measure one frame of 2160p.
    FrameThreads,
}

impl NamedTest {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Self::Differential => {
                run_ignored(&["--test", "scoring", "random_clips_have_the_bits"], &["--nocapture"], &[])
            }
            Self::CheckCost => run_ignored(&["--lib", "what_the_checks_cost"], &["--nocapture"], &[]),
            Self::FrameThreads => {
                run_ignored(&["--lib", "how_fast_threads_measure_one_frame"], &["--nocapture"], &[])
            }
            Self::MemorySafety => memory_safety(),
        }
    }
}

/// `AddressSanitizer` is an unstable option of the compiler, which the stable one has with its runtime library.
fn memory_safety() -> Result<()> {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    // Flags for the target only, so that build scripts and macros run without it. In a directory of its own, because the
    // flags are part of every artifact.
    let test = ["test", "--package", "vmafx-kernels", "--lib", "--locked"];
    // Without that of ADM, which takes ten minutes and calls no kernel that the unit tests do not call with all sizes.
    let targets = ["cambi", "hostile", "ladder", "motion", "speed", "vif"].map(|name| ["--test", name]);
    let place = ["--target", TARGET, "--target-dir", "target/address-sanitizer"];
    let environment = [
        ("RUSTC_BOOTSTRAP", "1"),
        ("RUSTFLAGS", "-Zsanitizer=address"),
        // Unoptimised tests would take a quarter of an hour. Overflow checks and debug assertions stay.
        ("CARGO_PROFILE_DEV_OPT_LEVEL", "2"),
    ];
    cargo(&[&test[..], targets.as_flattened(), &place].concat(), &environment)
}

/// Test targets with tests that take a minute or more each. They are ignored by default.
const LONG_TESTS: [&str; 2] = ["kill", "faults"];

pub(crate) const SINGLE_THREADED: [&str; 2] = ["--test-threads", "1"];

/// Runs ignored tests, with `--workspace`: a single package would enable fewer features of its dependencies, which would
/// then be built again.
pub(crate) fn run_ignored(which: &[&str], how: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let test = ["test", "--workspace", "--locked", "--quiet"];
    cargo(&[&test, which, &["--", "--ignored"], how].concat(), environment)
}

pub(crate) fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).envs(environment.iter().copied()).current_dir(workspace::root());
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    Ok(())
}
