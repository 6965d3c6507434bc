//! `submit`: creates a job per pair of clips.

mod args;
mod create;
mod name;
mod plan;
mod spec;

use kube::core::DynamicObject;

use self::args::DryRun;
pub(super) use self::args::SubmitArgs;
use self::create::{SubmitOutcome, SubmittedResource};
use super::connection::ConnectionArgs;
use super::job::JobView;
use super::kind::ResourceKind;
use super::output::Format;
use super::wait::{self, WaitGoal};
use crate::terminal::Look;
use crate::view::job::short;
use crate::{Error, Exit};

pub(super) async fn run(args: &SubmitArgs, connection: &ConnectionArgs) -> Result<Exit, Error> {
    // The plan is checked before the cluster is needed, so that --dry-run=client works without one.
    let plan = plan::plan(args)?;
    if args.dry_run == Some(DryRun::Client) {
        let jobs: Vec<SubmittedResource> = plan
            .jobs
            .iter()
            .map(|planned| SubmittedResource {
                object: create::object(planned, connection.namespace()),
                outcome: SubmitOutcome::Created,
            })
            .collect();
        show(args, &jobs)?;
        return Ok(Exit::Done);
    }
    let cluster = connection.connect().await?;
    let checked = create::check(&cluster, &plan).await?;
    if args.dry_run == Some(DryRun::Server) {
        show(args, &checked)?;
        return Ok(Exit::Done);
    }
    let submitted = create::create(&cluster, &plan).await?;
    print_summary(&submitted);
    if !args.wait {
        show(args, &submitted)?;
        return Ok(Exit::Done);
    }
    let jobs: Vec<DynamicObject> = submitted.into_iter().map(|job| job.object).collect();
    let result = wait::wait_for(&cluster, &jobs, None, &WaitGoal::Done, args.timeout).await?;
    wait::show(args.format, &result, false)?;
    Ok(result.report_timeout().unwrap_or_else(|| exit_code(&result.jobs)))
}

/// Prints to standard error, so that standard output can be piped.
fn print_summary(submitted: &[SubmittedResource]) {
    let created = submitted.iter().filter(|job| job.outcome == SubmitOutcome::Created).count();
    if submitted.len() > 1 {
        eprintln!("{created} created, {} unchanged", submitted.len() - created);
    }
}

fn show(args: &SubmitArgs, submitted: &[SubmittedResource]) -> Result<(), Error> {
    let objects: Vec<DynamicObject> = submitted.iter().map(|job| job.object.clone()).collect();
    let single = args.filename.is_none() && objects.len() == 1;
    args.format.show(ResourceKind::Job, &objects, single, |look| table(args, submitted, look))?;
    Ok(())
}

fn table(args: &SubmitArgs, submitted: &[SubmittedResource], look: Look) -> String {
    let wide = args.format.output == Format::Wide;
    let mut header = vec!["Name", "Distorted", "Result"];
    if wide {
        header.extend(["Reference", "Model"]);
    }
    let mut table = look.table(&header, header.len());
    for resource in submitted {
        let job = JobView(&resource.object);
        // The same words as kubectl's.
        let result = match (resource.outcome, args.dry_run) {
            (SubmitOutcome::Unchanged, _) => "unchanged",
            (SubmitOutcome::Created, None) => "created",
            (SubmitOutcome::Created, Some(DryRun::Client)) => "created (dry run)",
            (SubmitOutcome::Created, Some(DryRun::Server)) => "created (server dry run)",
        };
        let distorted = job.text("/spec/distorted");
        let mut cells = vec![job.name(), if wide { distorted } else { short(distorted) }, result];
        if wide {
            cells.extend([job.text("/spec/reference"), job.text("/spec/model")]);
        }
        table.add_row(cells);
    }
    format!("{}\n", table.trim_fmt())
}

/// A job without a score takes precedence over one with a low score.
fn exit_code(jobs: &[DynamicObject]) -> Exit {
    let mut exit = Exit::Done;
    for object in jobs {
        let job = JobView(object);
        let Some(score) = job.score() else {
            eprintln!("{} has no score: {}", job.name(), job.message());
            exit = Exit::Failed;
            continue;
        };
        if job.passed() == Some(false) {
            eprintln!("{}: {score:.3} is below its minimum", job.name());
            if exit == Exit::Done {
                exit = Exit::BelowMinimum;
            }
        }
    }
    exit
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case(&[json!({ "score": 95 })], Exit::Done)]
    #[case(&[json!({ "score": 0, "passed": true })], Exit::Done)]
    #[case(&[json!({ "score": 95, "passed": true }), json!({ "score": 2, "passed": false })], Exit::BelowMinimum)]
    #[case(&[json!({ "score": 2, "passed": false }), json!({ "phase": "Failed" })], Exit::Failed)]
    #[case(&[json!({ "phase": "Failed" }), json!({ "score": 2, "passed": false })], Exit::Failed)]
    fn the_worst_job_decides_the_exit_code(#[case] jobs: &[Value], #[case] expected: Exit) {
        let object = |status: &Value| {
            serde_json::from_value(json!({
                "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "a" }, "status": status,
            }))
            .unwrap()
        };
        assert_eq!(exit_code(&jobs.iter().map(object).collect::<Vec<_>>()), expected);
    }
}
