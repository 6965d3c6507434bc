//! How long it takes.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::caller::{Callers, LoadNode, job, submit};

/// Microseconds of a pull that finds a job.
pub(crate) async fn claims(callers: &Callers, times: usize) -> anyhow::Result<Value> {
    let mut client = callers.get(0);
    let mut node = LoadNode::register(callers.get(1), 0).await?;
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        submit(&mut client, &job("cpu")).await?;
        let begun = Instant::now();
        let job = node.pull(0).await?.context("no job")?;
        took.push(begun.elapsed());
        node.report(&job).await?;
    }
    Ok(json!({ "times": times, "median_us": micros(&mut took, 0.5), "p99_us": micros(&mut took, 0.99) }))
}

/// Milliseconds from the begin of a submission until a node that waits has the job.
pub(crate) async fn dispatch(callers: &Callers, times: usize) -> anyhow::Result<Value> {
    let mut client = callers.get(0);
    let mut node = LoadNode::register(callers.get(1), 0).await?;
    let mut took = Vec::with_capacity(times);
    for number in 0..times {
        let submitting = async {
            // The node is to wait already. Pauses differ, so that no beat of the server is met each time.
            tokio::time::sleep(Duration::from_millis(2 + u64::try_from(number % 7)?)).await;
            let begun = Instant::now();
            let id = submit(&mut client, &job("cpu")).await?;
            anyhow::Ok((begun, id))
        };
        let waiting = async {
            let job = node.pull(10_000).await?.context("no job came")?;
            anyhow::Ok((Instant::now(), job))
        };
        let ((begun, id), (held, job)) = tokio::try_join!(submitting, waiting)?;
        ensure!(job.id == id, "another job came");
        took.push(held.duration_since(begun));
        node.report(&job).await?;
    }
    let median = micros(&mut took, 0.5) / 1000.0;
    Ok(json!({ "times": times, "median_ms": median, "p99_ms": micros(&mut took, 0.99) / 1000.0 }))
}

/// The value that this part of them is not above.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in a list"
)]
fn micros(took: &mut [Duration], part: f64) -> f64 {
    took.sort_unstable();
    let place = ((took.len() as f64 * part).ceil() as usize).clamp(1, took.len());
    took[place - 1].as_secs_f64() * 1e6
}
