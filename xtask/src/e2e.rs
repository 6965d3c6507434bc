//! `make e2e`: the tests that need a whole node with real Pods, and those that take their time.

use anyhow::Result;
use vmafx_testkit::kube::probe::{Verdict, probe};

use crate::test::cargo;

/// Runs them, or says why this machine cannot.
pub(crate) fn run() -> Result<()> {
    for (package, test) in [("vmafx-controller", "kill"), ("vmafx-operator", "faults")] {
        let which = ["test", "--locked", "--package", package, "--test", test];
        cargo(&[&which[..], &["--", "--ignored", "--test-threads", "1"]].concat(), &[])?;
    }
    crate::run::run(false)?;
    images()?;
    let verdict = probe();
    if verdict != Verdict::Possible {
        println!("e2e: skipped: {verdict}");
        println!("0 passed, 0 failed, 1 skipped");
        return Ok(());
    }
    // What the operator's test puts into an image, and compares with.
    let programs = ["vmafx", "vmafx-controller", "vmafx-node", "vmafx-trainer", "testkit-helper"]
        .map(|name| ["--bin", name])
        .concat();
    cargo(&[&["build", "--locked"][..], &programs].concat(), &[])?;
    cargo(&["test", "--locked", "--workspace", "--test", "whole_node", "--", "--ignored"], &[])
}

/// The images of the daemons, made of quick builds and tried.
fn images() -> Result<()> {
    let programs = ["vmafx-operator", "vmafx-controller", "vmafx-node", "vmafx-trainer"];
    let programs = programs.map(|name| ["--bin", name]).concat();
    cargo(&[&["build", "--locked"][..], &programs].concat(), &[])?;
    let which = ["test", "--locked", "--package", "xtask", "images::tests::every_daemon"];
    cargo(&[&which[..], &["--", "--ignored"]].concat(), &[])
}
