//! All jobs of a submission, checked as far as that can be done without a cluster.

use std::collections::{BTreeMap, HashMap};

use kube::api::ObjectMeta;
use vmafx_api::{VmafxJob, VmafxJobSpec};

use super::args::SubmitArgs;
use super::row::Pair;
use super::{name, spec};
use crate::cluster::trouble::KubeError;
use crate::submit::PairsError;
use crate::submit::pairs::{self, Line};

/// A job that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Planned {
    /// The line it came from; nothing for the command line.
    pub(super) line: Option<u64>,
    pub(super) job: VmafxJob,
}

impl Planned {
    pub(super) fn name(&self) -> &str {
        self.job.metadata.name.as_deref().unwrap_or_default()
    }

    /// Where it stands, for messages.
    pub(super) fn place(&self, column: Option<&str>) -> String {
        let column = column.map(|column| format!("column {column}"));
        let place: Vec<String> =
            self.line.map(|line| format!("line {line}")).into_iter().chain(column).collect();
        if place.is_empty() { self.name().to_owned() } else { place.join(", ") }
    }
}

/// What a submission is made of.
pub(super) struct Plan {
    /// For messages.
    pub(super) source: String,
    pub(super) jobs: Vec<Planned>,
}

impl Plan {
    /// That some of them cannot be used.
    pub(super) fn refused(&self, problems: Vec<String>) -> KubeError {
        let unit = if self.jobs.iter().any(|job| job.line.is_some()) { "lines" } else { "pairs" };
        KubeError::Rows { file: self.source.clone(), all: format!("{} {unit}", self.jobs.len()), problems }
    }
}

/// The jobs that were asked for.
pub(super) fn plan(args: &SubmitArgs) -> Result<Plan, crate::Error> {
    let lines = match &args.filename {
        Some(file) => pairs::read::<Pair>(file)?,
        None => typed(args)?,
    };
    let source = args
        .filename
        .as_ref()
        .map_or_else(|| "the command line".to_owned(), |file| file.display().to_string());
    let labels = labels(args)?;
    if args.name.is_some() && lines.len() > 1 {
        let said = format!("--name is of one job, and there are {}: use --name-prefix", lines.len());
        return Err(KubeError::Senseless(vec![said]).into());
    }
    if let Some(problem) = args.name_prefix.as_deref().and_then(prefix_problem) {
        return Err(KubeError::Senseless(vec![format!("--name-prefix: {problem}")]).into());
    }
    let strange: Vec<String> = lines
        .iter()
        .filter_map(|line| {
            Some(format!("line {}, column backend: {}", line.number, line.row.backend().err()?))
        })
        .collect();
    let jobs = lines
        .into_iter()
        .map(|line| {
            let spec = spec::spec(args, &line.row);
            let given = line.row.name.as_deref().or(args.name.as_deref()).filter(|name| !name.is_empty());
            let key = line.row.key.as_deref().filter(|key| !key.is_empty());
            let name =
                given.map_or_else(|| name::name(args.name_prefix.as_deref(), &spec, key), str::to_owned);
            let metadata = ObjectMeta {
                name: Some(name),
                labels: (!labels.is_empty()).then(|| labels.clone()),
                ..ObjectMeta::default()
            };
            Planned {
                line: args.filename.is_some().then_some(line.number),
                job: VmafxJob { metadata, spec, status: None },
            }
        })
        .collect();
    let plan = Plan { source, jobs };
    let problems = [strange, problems(&plan.jobs)].concat();
    if problems.is_empty() { Ok(plan) } else { Err(plan.refused(problems).into()) }
}

/// The pairs of the command line.
fn typed(args: &SubmitArgs) -> Result<Vec<Line<Pair>>, PairsError> {
    let (reference, distorted) = args.clips.split_first().ok_or(PairsError::Nothing)?;
    let pair = |distorted: &String| Line {
        number: 0,
        row: Pair { reference: reference.clone(), distorted: distorted.clone(), ..Pair::default() },
    };
    Ok(distorted.iter().map(pair).collect())
}

fn labels(args: &SubmitArgs) -> Result<BTreeMap<String, String>, KubeError> {
    let mut labels = BTreeMap::new();
    for label in &args.labels {
        let (name, value) = label.split_once('=').ok_or_else(|| {
            KubeError::Senseless(vec![format!("--labels: {label:?} is none: write NAME=VALUE")])
        })?;
        labels.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    Ok(labels)
}

fn prefix_problem(prefix: &str) -> Option<String> {
    const LONGEST: usize = 40;
    if prefix.len() > LONGEST {
        return Some(format!("{prefix:?} is longer than {LONGEST} letters"));
    }
    name::problem(prefix)
}

/// What is wrong, each with its place.
fn problems(jobs: &[Planned]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut taken: HashMap<&str, &Planned> = HashMap::new();
    for planned in jobs {
        let mut say = |column: &str, problem: String| {
            problems.push(format!("{}: {problem}", planned.place(Some(column))));
        };
        let spec = &planned.job.spec;
        for (column, uri) in uris(spec) {
            if !is_uri(uri) {
                say(
                    column,
                    format!("{uri:?} is no URI: write s3://bucket/clip.mp4 or file:///data/clip.mp4"),
                );
            }
        }
        if spec.priority < 0 {
            say("priority", format!("{} is below 0", spec.priority));
        }
        for (column, score) in [("min_score", spec.min_score), ("label", spec.ground_truth)] {
            if let Some(score) = score.filter(|score| !(0.0..=100.0).contains(score)) {
                say(column, format!("{score} is not between 0 and 100"));
            }
        }
        if let Some(problem) = name::problem(planned.name()) {
            say("name", problem);
        } else if let Some(first) = taken.insert(planned.name(), planned) {
            let same = format!("the same job as {}: give one of them a name or a key", first.place(None));
            problems.push(format!("{}: {same}", planned.place(None)));
        }
    }
    problems
}

fn uris(spec: &VmafxJobSpec) -> impl Iterator<Item = (&'static str, &str)> {
    let report = spec.report_uri.as_deref().map(|uri| ("report", uri));
    [("reference", spec.reference.as_str()), ("distorted", spec.distorted.as_str())].into_iter().chain(report)
}

/// As the API server's rule has it.
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
    struct Typed {
        #[command(flatten)]
        args: SubmitArgs,
    }

    fn planned(words: &[&str]) -> Result<Vec<Planned>, String> {
        let typed = Typed::try_parse_from(["submit"].iter().chain(words)).unwrap();
        plan(&typed.args).map(|plan| plan.jobs).map_err(|error| error.to_string())
    }

    fn from_file(text: &str, words: &[&str]) -> Result<Vec<Planned>, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let path = file.path().display().to_string();
        planned(&[&["-f", &path], words].concat()).map_err(|error| error.replace(&path, "pairs.csv"))
    }

    #[test]
    fn what_a_line_says_goes_before_the_options() {
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
            "--feature=psnr,ms-ssim",
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
            serde_json::json!({ "features": ["psnr", "ms-ssim"], "frameStep": 5, "scaleTo": "640x360", "lengthMismatch": "Shortest" })
        );
        assert_eq!(
            (&spec["activeDeadlineSeconds"], &spec["ttlSecondsAfterFinished"]),
            (&1800.into(), &86400.into())
        );
        assert_eq!((&spec["backoffLimit"], &spec["suspend"]), (&0.into(), &true.into()));
    }

    #[rstest]
    #[case("reference,distorted\na.mp4,s3://b/d\n", "line 2, column reference: \"a.mp4\" is no URI")]
    #[case("reference,distorted,priority\ns3://b/r,s3://b/d,-1\n", "line 2, column priority: -1 is below 0")]
    #[case(
        "reference,distorted,priority\ns3://b/r,s3://b/d,high\n",
        "line 2, column priority: invalid digit"
    )]
    #[case(
        "reference,distorted,min_score\ns3://b/r,s3://b/d,101\n",
        "line 2, column min_score: 101 is not between"
    )]
    #[case("reference,distorted,label\ns3://b/r,s3://b/d,nan\n", "line 2, column label: NaN is not between")]
    #[case("reference,distorted,name\ns3://b/r,s3://b/d,A_b\n", "line 2, column name: \"A_b\" is no name")]
    #[case("reference,distorted\ns3://b/r,s3://b/d\ns3://b/r,s3://b/d\n", "line 3: the same job as line 2")]
    #[case(
        "reference,distorted,backend\ns3://b/r,s3://b/d,gpu\n",
        "line 2, column backend: unknown variant `gpu`"
    )]
    #[case("reference,distorted,colour\ns3://b/r,s3://b/d,red\n", "unknown field `colour`")]
    fn a_bad_line_is_named_with_its_column(#[case] text: &str, #[case] expected: &str) {
        let error = from_file(text, &[]).unwrap_err();
        assert!(error.starts_with("pairs.csv: ") && error.contains(expected), "{error}");
    }

    #[test]
    fn all_bad_lines_are_told_at_once() {
        let error =
            from_file("reference,distorted\na,s3://b/d\ns3://b/r,s3://b/e\nb,s3://b/f\n", &[]).unwrap_err();
        assert!(
            error.starts_with("pairs.csv: 2 of 3 lines cannot be used; nothing was created\n  line 2, "),
            "{error}"
        );
        assert!(error.contains("\n  line 4, column reference"), "{error}");
    }

    #[rstest]
    #[case(&["s3://b/r", "s3://b/d", "s3://b/e", "--name=x"], "--name is of one job, and there are 2")]
    #[case(&["s3://b/r", "s3://b/d", "--labels=x"], "--labels: \"x\" is none: write NAME=VALUE")]
    #[case(&["s3://b/r", "s3://b/d", "--name-prefix=A"], "--name-prefix: \"A\" is no name")]
    #[case(&["r.mp4", "s3://b/d"], "the command line: 1 of 1 pairs cannot be used; nothing was created\n  column reference:")]
    fn bad_options_are_refused(#[case] words: &[&str], #[case] expected: &str) {
        let error = planned(words).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}
