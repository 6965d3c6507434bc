//! The jobs of a submission, validated as far as possible without a cluster.

use std::collections::{BTreeMap, HashMap};

use kube::api::ObjectMeta;
use vmafx_api::{VmafxJob, VmafxJobSpec};
use vmafx_job::Backend;

use super::args::SubmitArgs;
use super::{name, spec};
use crate::cluster::error::KubeError;
use crate::submit::pairs;

/// Columns of a CSV file that this command uses.
const COLUMNS: [&str; 10] =
    ["reference", "distorted", "name", "key", "model", "backend", "priority", "min_score", "label", "report"];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedJob {
    /// The line of the CSV file; `None` for a job from the command line.
    pub(super) line: Option<u64>,
    pub(super) job: VmafxJob,
}

impl PlannedJob {
    pub(super) fn name(&self) -> &str {
        self.job.metadata.name.as_deref().unwrap_or_default()
    }

    /// Line and column, or the name if there is neither. For messages.
    pub(super) fn location(&self, column: Option<&str>) -> String {
        let column = column.map(|column| format!("column {column}"));
        let location: Vec<String> =
            self.line.map(|line| format!("line {line}")).into_iter().chain(column).collect();
        if location.is_empty() { self.name().to_owned() } else { location.join(", ") }
    }
}

pub(super) struct SubmissionPlan {
    /// The CSV file or the command line, for messages.
    input: String,
    pub(super) jobs: Vec<PlannedJob>,
}

impl SubmissionPlan {
    pub(super) fn invalid(&self, problems: Vec<String>) -> KubeError {
        let unit = if self.jobs.iter().any(|job| job.line.is_some()) { "lines" } else { "pairs" };
        let pairs = format!("{} {unit}", self.jobs.len());
        KubeError::InvalidPairs { input: self.input.clone(), pairs, problems }
    }
}

/// Plans one job per pair. All problems are reported together.
pub(super) fn plan(args: &SubmitArgs) -> Result<SubmissionPlan, crate::Error> {
    let (input, pairs) = match &args.filename {
        Some(file) => (file.display().to_string(), pairs::read(file, &COLUMNS)?),
        None => ("the command line".to_owned(), pairs::from_clips(&args.clips)),
    };
    let labels = labels(args)?;
    if args.name.is_some() && pairs.len() > 1 {
        let message =
            format!("--name is the name of one job, but there are {}: use --name-prefix", pairs.len());
        return Err(KubeError::InvalidRequest(vec![message]).into());
    }
    if let Some(problem) = args.name_prefix.as_deref().and_then(prefix_problem) {
        return Err(KubeError::InvalidRequest(vec![format!("--name-prefix: {problem}")]).into());
    }
    let (mut jobs, mut problems) = (Vec::with_capacity(pairs.len()), Vec::new());
    for pair in &pairs {
        let backend = pair.backend.as_deref().map(str::parse::<Backend>).transpose();
        let spec = spec::spec(args, pair, *backend.as_ref().unwrap_or(&None));
        let given = pair.name.as_deref().or(args.name.as_deref()).filter(|name| !name.is_empty());
        let derived = || name::name(args.name_prefix.as_deref(), &spec, pair.key.as_deref());
        let metadata = ObjectMeta {
            name: Some(given.map_or_else(derived, str::to_owned)),
            labels: (!labels.is_empty()).then(|| labels.clone()),
            ..ObjectMeta::default()
        };
        let planned = PlannedJob { line: pair.line, job: VmafxJob { metadata, spec, status: None } };
        if let Err(error) = backend {
            problems.push(format!("{}: {error}", planned.location(Some("backend"))));
        }
        jobs.push(planned);
    }
    problems.extend(job_problems(&jobs));
    let plan = SubmissionPlan { input, jobs };
    if problems.is_empty() { Ok(plan) } else { Err(plan.invalid(problems).into()) }
}

fn labels(args: &SubmitArgs) -> Result<BTreeMap<String, String>, KubeError> {
    let mut labels = BTreeMap::new();
    for label in &args.labels {
        let (name, value) = label.split_once('=').ok_or_else(|| {
            KubeError::InvalidRequest(vec![format!("--labels: {label:?} is not a label; use NAME=VALUE")])
        })?;
        labels.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok(labels)
}

fn prefix_problem(prefix: &str) -> Option<String> {
    const MAX_PREFIX_LENGTH: usize = 40;
    if prefix.len() > MAX_PREFIX_LENGTH {
        return Some(format!("{prefix:?} has more than {MAX_PREFIX_LENGTH} characters"));
    }
    name::problem(prefix)
}

/// What is wrong with the jobs, each problem with its location.
fn job_problems(jobs: &[PlannedJob]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut by_name: HashMap<&str, &PlannedJob> = HashMap::new();
    for planned in jobs {
        let mut add = |column: &str, problem: String| {
            problems.push(format!("{}: {problem}", planned.location(Some(column))));
        };
        let spec = &planned.job.spec;
        for (column, uri) in uris(spec) {
            if !is_uri(uri) {
                add(
                    column,
                    format!("{uri:?} is not a URI; use s3://bucket/clip.mp4 or file:///data/clip.mp4"),
                );
            }
        }
        if spec.priority < 0 {
            add("priority", format!("{} is less than 0", spec.priority));
        }
        for (column, score) in [("min_score", spec.min_score), ("label", spec.ground_truth)] {
            if let Some(score) = score.filter(|score| !(0.0..=100.0).contains(score)) {
                add(column, format!("{score} is not between 0 and 100"));
            }
        }
        if let Some(problem) = name::problem(planned.name()) {
            add("name", problem);
        } else if let Some(first) = by_name.insert(planned.name(), planned) {
            let same =
                format!("this is the same job as {}; give one of them a name or a key", first.location(None));
            problems.push(format!("{}: {same}", planned.location(None)));
        }
    }
    problems
}

fn uris(spec: &VmafxJobSpec) -> impl Iterator<Item = (&'static str, &str)> {
    let report = spec.report_uri.as_deref().map(|uri| ("report", uri));
    [("reference", spec.reference.as_str()), ("distorted", spec.distorted.as_str())].into_iter().chain(report)
}

/// The rule of the CRD for URIs.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+.-".contains(letter))
        && rest.starts_with(|letter: char| !letter.is_whitespace())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use clap::Parser;
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: SubmitArgs,
    }

    fn planned(words: &[&str]) -> Result<Vec<PlannedJob>, String> {
        let line = CommandLine::try_parse_from(["submit"].iter().chain(words)).unwrap();
        plan(&line.args).map(|plan| plan.jobs).map_err(|error| error.to_string())
    }

    fn from_file(text: &str, words: &[&str]) -> Result<Vec<PlannedJob>, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let path = file.path().display().to_string();
        planned(&[&["-f", &path], words].concat()).map_err(|error| error.replace(&path, "pairs.csv"))
    }

    #[test]
    fn columns_take_precedence_over_options() {
        let jobs = from_file(
            "distorted,reference,model,backend,priority,min_score,label,name,report\n\
             s3://b/d.mp4,s3://b/r.mp4,m,cuda,7,80,50,mine,s3://b/r.json\n\
             s3://b/e.mp4,s3://b/r.mp4,,,,,,,\n",
            &[
                "--model=other",
                "--priority=1",
                "--min-score=93",
                "--labels=a=b,c=d",
                "--report=s3://out/",
                "--execution=pod",
            ],
        )
        .unwrap();
        let spec = |index: usize| serde_json::to_value(&jobs[index].job.spec).unwrap();
        assert_eq!(
            spec(0),
            serde_json::json!({
                "reference": "s3://b/r.mp4", "distorted": "s3://b/d.mp4", "model": "m", "backend": "cuda", "priority": 7,
                "suspend": false, "cancel": false, "execution": "Pod", "backoffLimit": 3, "minScore": 80.0,
                "groundTruth": 50.0, "reportURI": "s3://b/r.json",
            })
        );
        assert_eq!((jobs[0].name(), jobs[0].line), ("mine", Some(2)));
        let second = spec(1);
        assert_eq!(
            (&second["model"], &second["priority"], &second["minScore"]),
            (&"other".into(), &1.into(), &93.0.into())
        );
        assert_eq!(second["reportURI"], "s3://out/e.mp4.json");
        assert_eq!(jobs[1].job.metadata.labels.as_ref().unwrap().len(), 2);
    }

    #[test]
    fn options_become_fields() {
        let jobs = planned(&[
            "s3://b/r.yuv",
            "s3://b/d.yuv",
            "--size=64x48",
            "--pixel-format=yuv422p10le",
            "--feature=psnr,psnr-hvs",
            "--feature=ms-ssim",
            "--subsample=5",
            "--scale-to=640x360",
            "--shortest",
            "--deadline=30m",
            "--ttl=24h",
            "--retries=0",
            "--suspend",
        ])
        .unwrap();
        let spec = serde_json::to_value(&jobs[0].job.spec).unwrap();
        assert_eq!(
            spec["input"],
            serde_json::json!({ "width": 64, "height": 48, "pixelFormat": "yuv422p", "bitDepth": 10 })
        );
        assert_eq!(
            spec["scoring"],
            serde_json::json!({ "features": ["psnr", "psnr-hvs", "ms-ssim"], "frameStep": 5, "scaleTo": "640x360", "lengthMismatch": "Shortest" })
        );
        assert_eq!(
            (&spec["activeDeadlineSeconds"], &spec["ttlSecondsAfterFinished"]),
            (&1800.into(), &86400.into())
        );
        assert_eq!((&spec["backoffLimit"], &spec["suspend"]), (&0.into(), &true.into()));
    }

    #[rstest]
    #[case("reference,distorted\na.mp4,s3://b/d\n", "line 2, column reference: \"a.mp4\" is not a URI")]
    #[case(
        "reference,distorted,priority\ns3://b/r,s3://b/d,-1\n",
        "line 2, column priority: -1 is less than 0"
    )]
    #[case(
        "reference,distorted,priority\ns3://b/r,s3://b/d,high\n",
        "line 2, column priority: invalid digit"
    )]
    #[case(
        "reference,distorted,min_score\ns3://b/r,s3://b/d,101\n",
        "line 2, column min_score: 101 is not between"
    )]
    #[case("reference,distorted,label\ns3://b/r,s3://b/d,nan\n", "line 2, column label: NaN is not between")]
    #[case(
        "reference,distorted,name\ns3://b/r,s3://b/d,A_b\n",
        "line 2, column name: \"A_b\" is not a valid name"
    )]
    #[case(
        "reference,distorted\ns3://b/r,s3://b/d\ns3://b/r,s3://b/d\n",
        "line 3: this is the same job as line 2"
    )]
    #[case(
        "reference,distorted,backend\ns3://b/r,s3://b/d,gpu\n",
        "line 2, column backend: \"gpu\" is not a backend; use one of cpu"
    )]
    #[case(
        "reference,distorted,colour\ns3://b/r,s3://b/d,red\n",
        "unknown column \"colour\" in the first line; use reference"
    )]
    fn a_bad_line_is_named_with_its_column(#[case] text: &str, #[case] expected: &str) {
        let error = from_file(text, &[]).unwrap_err();
        assert!(error.starts_with("pairs.csv: ") && error.contains(expected), "{error}");
    }

    #[test]
    fn all_bad_lines_are_reported_together() {
        let error =
            from_file("reference,distorted\na,s3://b/d\ns3://b/r,s3://b/e\nb,s3://b/f\n", &[]).unwrap_err();
        assert!(
            error.starts_with("pairs.csv: 2 of 3 lines cannot be used; nothing was created\n  line 2, "),
            "{error}"
        );
        assert!(error.contains("\n  line 4, column reference"), "{error}");
    }

    #[rstest]
    #[case(&["s3://b/r", "s3://b/d", "s3://b/e", "--name=x"], "--name is the name of one job, but there are 2")]
    #[case(&["s3://b/r", "s3://b/d", "--labels=x"], "--labels: \"x\" is not a label; use NAME=VALUE")]
    #[case(&["s3://b/r", "s3://b/d", "--name-prefix=A"], "--name-prefix: \"A\" is not a valid name")]
    #[case(&["r.mp4", "s3://b/d"], "the command line: 1 of 1 pairs cannot be used; nothing was created\n  column reference:")]
    fn bad_options_are_refused(#[case] words: &[&str], #[case] expected: &str) {
        let error = planned(words).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}
