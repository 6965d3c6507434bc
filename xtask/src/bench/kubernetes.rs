//! The start-up time of a control plane.

use std::time::Instant;

use anyhow::Result;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions};

use super::figure::Figure;

const REPEATS: usize = 5;

/// Measures the time until the API server answers.
pub(super) fn measure(report: &mut dyn FnMut(Figure)) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut samples = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        let plane = runtime.block_on(ControlPlane::start(ControlPlaneOptions::default()))?;
        samples.push(start.elapsed().as_secs_f64());
        drop(plane);
    }
    report(Figure::at_most("kubernetes.control-plane-ready", "s", 6.0, samples));
    Ok(())
}
