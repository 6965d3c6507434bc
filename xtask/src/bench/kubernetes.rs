//! How long tests wait for a Kubernetes.

use std::time::Instant;

use anyhow::Result;
use vmafx_testkit::kube::{ControlPlane, ControlPlaneOptions};

use super::figure::{Bar, Figure};

const REPEATS: usize = 5;

/// Seconds from nothing to an API server that answers.
pub(super) fn measure(tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut samples = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        let plane = runtime.block_on(ControlPlane::start(ControlPlaneOptions::default()))?;
        samples.push(start.elapsed().as_secs_f64());
        drop(plane);
    }
    tell(Figure { name: "kubernetes.control-plane-ready", unit: "s", bar: Bar::AtMost, limit: 6.0, samples });
    Ok(())
}
