//! The steps of a run, with their durations.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// Column width of a step's name; a longer name shifts its duration.
const WIDTH: usize = 64;

/// Prints each step when it ends, and all of them at the end.
#[derive(Debug, Default)]
pub struct Steps {
    done: Vec<StepResult>,
}

#[derive(Debug)]
struct StepResult {
    name: String,
    took: Duration,
    ok: bool,
}

impl Steps {
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs one step and prints its result: `ok    register a node    3.2 s`. An error names the step.
    pub async fn step<T>(&mut self, name: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let started = Instant::now();
        let outcome = work.await;
        self.record(name, started.elapsed(), outcome.is_ok());
        outcome.with_context(|| format!("step: {name}"))
    }

    /// The same for blocking work.
    pub fn blocking<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let outcome = work();
        self.record(name, started.elapsed(), outcome.is_ok());
        outcome.with_context(|| format!("step: {name}"))
    }

    fn record(&mut self, name: &str, took: Duration, ok: bool) {
        let step = StepResult { name: name.to_owned(), took, ok };
        println!("{}", line(&step));
        self.done.push(step);
    }

    /// All steps, and the total.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for step in &self.done {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", line(step));
        }
        let failed = self.done.iter().filter(|step| !step.ok).count();
        let took: Duration = self.done.iter().map(|step| step.took).sum();
        let passed = self.done.len() - failed;
        let _ = write!(text, "{passed} passed, {failed} failed, {:.1} s", took.as_secs_f64());
        text
    }
}

fn line(step: &StepResult) -> String {
    let word = if step.ok { "ok" } else { "FAILED" };
    format!("{word:<7} {:<WIDTH$} {:>6.1} s", step.name, step.took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[tokio::test]
    async fn a_step_returns_its_result_and_is_counted() {
        let mut steps = Steps::new();
        assert_eq!(steps.step("look", async { Ok(7) }).await.unwrap(), 7);
        let table = steps.table();
        assert!(table.starts_with("ok      look "), "{table}");
        assert!(table.ends_with("1 passed, 0 failed, 0.0 s"), "{table}");
    }

    #[tokio::test]
    async fn a_failed_step_is_named_with_its_cause() {
        let mut steps = Steps::new();
        let failing = async { bail!("nothing there") };
        let error = steps.step::<()>("look", failing).await.unwrap_err();
        assert_eq!(format!("{error:#}"), "step: look: nothing there");
        assert!(steps.table().contains("FAILED  look "), "{}", steps.table());
        assert!(steps.table().contains("0 passed, 1 failed"), "{}", steps.table());
    }
}
