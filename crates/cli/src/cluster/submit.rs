//! `submit`: jobs from pairs of clips.

mod args;
mod make;
mod name;
mod plan;
mod row;
mod spec;

use kube::core::DynamicObject;

use self::args::DryRun;
pub(super) use self::args::SubmitArgs;
use self::make::{Made, Outcome};
use super::job::Job;
use super::kind::Kind;
use super::output::Format;
use super::reach::ReachArgs;
use super::wait::{self, Goal};
use crate::terminal::Look;
use crate::view::job::short;
use crate::{Error, Exit};

pub(super) async fn run(args: &SubmitArgs, reach: &ReachArgs) -> Result<Exit, Error> {
    // Before the cluster is looked for: bad lines are bad everywhere.
    let plan = plan::plan(args)?;
    if args.dry_run == Some(DryRun::Client) {
        let rows: Vec<Row> = plan
            .jobs
            .iter()
            .map(|planned| Row { object: make::object(planned, reach.namespace()), outcome: "to be made" })
            .collect();
        show(args, &rows)?;
        return Ok(Exit::Done);
    }
    let cluster = reach.connect().await?;
    let checked = make::check(&cluster, &plan).await?;
    if args.dry_run == Some(DryRun::Server) {
        show(args, &rows(checked, "to be made"))?;
        return Ok(Exit::Done);
    }
    let made = rows(make::create(&cluster, &plan).await?, "created");
    summary(&made);
    if !args.wait {
        show(args, &made)?;
        return Ok(Exit::Done);
    }
    let jobs: Vec<DynamicObject> = made.into_iter().map(|row| row.object).collect();
    let waited = wait::until(&cluster, &jobs, None, &Goal::Done, args.timeout).await?;
    wait::show(args.format, &waited, false)?;
    Ok(waited.late().unwrap_or_else(|| verdict(&waited.jobs)))
}

/// A job, and what became of it.
struct Row {
    object: DynamicObject,
    outcome: &'static str,
}

fn rows(made: Vec<Made>, new: &'static str) -> Vec<Row> {
    let word = |outcome| match outcome {
        Outcome::Created => new,
        Outcome::Unchanged => "unchanged",
    };
    made.into_iter().map(|one| Row { object: one.object, outcome: word(one.outcome) }).collect()
}

/// On standard error, so that the answer can be piped.
fn summary(made: &[Row]) {
    let created = made.iter().filter(|row| row.outcome == "created").count();
    if made.len() > 1 {
        eprintln!("{created} created, {} unchanged", made.len() - created);
    }
}

fn show(args: &SubmitArgs, made: &[Row]) -> Result<(), Error> {
    let objects: Vec<DynamicObject> = made.iter().map(|row| row.object.clone()).collect();
    let one = args.filename.is_none() && objects.len() == 1;
    args.format.show(Kind::Job, &objects, one, |look, _| table(args, made, look))?;
    Ok(())
}

fn table(args: &SubmitArgs, made: &[Row], look: Look) -> String {
    let wide = args.format.output == Format::Wide;
    let mut header = vec!["Name", "Distorted", "Result"];
    if wide {
        header.extend(["Reference", "Model"]);
    }
    let mut table = look.table(&header, header.len());
    for row in made {
        let job = Job(&row.object);
        let distorted = job.text("/spec/distorted");
        let mut cells = vec![job.name(), if wide { distorted } else { short(distorted) }, row.outcome];
        if wide {
            cells.extend([job.text("/spec/reference"), job.text("/spec/model")]);
        }
        table.add_row(cells);
    }
    format!("{}\n", table.trim_fmt())
}

/// A job without a score weighs more than one with a low score.
fn verdict(jobs: &[DynamicObject]) -> Exit {
    let mut exit = Exit::Done;
    for object in jobs {
        let job = Job(object);
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
    fn the_exit_code_tells_the_worst(#[case] jobs: &[Value], #[case] expected: Exit) {
        let object = |status: &Value| {
            serde_json::from_value(json!({
                "apiVersion": "vmafx.dev/v1", "kind": "VmafxJob", "metadata": { "name": "a" }, "status": status,
            }))
            .unwrap()
        };
        assert_eq!(verdict(&jobs.iter().map(object).collect::<Vec<_>>()), expected);
    }
}
