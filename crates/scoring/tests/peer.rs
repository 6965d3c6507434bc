//! The same clips through ffmpeg's libvmaf filter: another version of the library, another decoder, another way of pairing
//! frames. Its older libvmaf differs by a hundredth of a point.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use vmafx_job::{Feature, ReportFormat};
use vmafx_scoring::engine::models::ModelChoice;
use vmafx_scoring::input::{Clip, Tools};
use vmafx_scoring::outcome::ScoringOutcome;
use vmafx_scoring::report::ScoringReport;
use vmafx_scoring::report::pooling::pool;
use vmafx_scoring::score::{self, Request};
use vmafx_testkit::prerequisite;

const TOLERANCE: f64 = 0.01;

/// The ffmpeg of this machine, if it has the filter.
fn peer() -> Option<PathBuf> {
    let has_libvmaf = |ffmpeg: &PathBuf| {
        let filters = Command::new(ffmpeg).args(["-hide_banner", "-filters"]).output();
        filters.is_ok_and(|filters| String::from_utf8_lossy(&filters.stdout).contains(" libvmaf "))
    };
    let found = Tools::from_process_env().ffmpeg().map(Path::to_owned).filter(has_libvmaf);
    if found.is_none() {
        prerequisite::skip("this machine has no ffmpeg with libvmaf; `make test` provides one");
    }
    found
}

fn ffmpeg(program: &Path, arguments: &[&str]) {
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"]).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A reference and its encode.
struct Pair {
    directory: TempDir,
    reference: String,
    distorted: String,
}

impl Pair {
    fn encode(program: &Path, codec: &str, pixels: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let (reference, distorted) = (path("reference.y4m"), path("distorted.mp4"));
        let source = "testsrc2=size=640x360:rate=30,noise=alls=6:allf=t:all_seed=3";
        let raw = ["-frames:v", "30", "-pix_fmt", pixels, "-strict", "-1", &reference];
        ffmpeg(program, &[&["-f", "lavfi", "-i", source][..], &raw].concat());
        let distorted_arguments =
            ["-c:v", codec, "-preset", "veryfast", "-crf", "36", "-pix_fmt", pixels, &distorted];
        ffmpeg(program, &[&["-i", &reference][..], &distorted_arguments].concat());
        Self { directory, reference, distorted }
    }

    /// What the filter writes in this format. Its first input is the distorted one.
    fn filter_log(&self, program: &Path, format: &str, options: &str) -> String {
        let log = self.directory.path().join("log").display().to_string();
        let filter = format!(
            "[0:v]settb=1/30,setpts=N[d];[1:v]settb=1/30,setpts=N[r];\
             [d][r]libvmaf=log_fmt={format}:log_path={log}{options}"
        );
        let inputs = ["-i", self.distorted.as_str(), "-i", self.reference.as_str()];
        ffmpeg(program, &[&inputs[..], &["-lavfi", &filter, "-f", "null", "-"]].concat());
        std::fs::read_to_string(log).unwrap()
    }

    fn score(&self, features: &[Feature]) -> ScoringOutcome {
        let mut request = Request::new(Clip::new(&self.reference), vec![Clip::new(&self.distorted)]);
        request.models = vec!["vmaf_v0.6.1".parse::<ModelChoice>().unwrap()];
        request.options.features = features.to_vec();
        let tools = Tools::from_process_env();
        score::run(&request, &tools, &(), &CancellationToken::new()).unwrap().remove(0)
    }
}

#[rstest]
#[case::h264_8_bit("libx264", "yuv420p")]
#[case::h264_10_bit("libx264", "yuv420p10le")]
#[case::hevc_8_bit("libx265", "yuv420p")]
#[case::hevc_10_bit("libx265", "yuv420p10le")]
fn a_score_is_that_of_ffmpegs_filter(#[case] codec: &str, #[case] pixels: &str) {
    let Some(program) = peer() else { return };
    let pair = Pair::encode(&program, codec, pixels);
    let outcome = pair.score(&[]);
    let ours = pool(&outcome.frames, &outcome.models[0].scores).unwrap().mean;
    let log: serde_json::Value = serde_json::from_str(&pair.filter_log(&program, "json", "")).unwrap();
    let theirs = log["pooled_metrics"]["vmaf"]["mean"].as_f64().unwrap();
    assert!((ours - theirs).abs() < TOLERANCE, "ours {ours}, ffmpeg's {theirs}");
    assert!((20.0..99.0).contains(&ours), "{ours} would not show a difference");
}

/// An element of XML: its name and its attributes.
type Element = (String, BTreeMap<String, String>);

/// The elements in their order, closing tags with a slash before the name. Enough for XML without text and comments.
fn elements(xml: &str) -> Vec<Element> {
    let element = |tag: &str| {
        let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("not closed: {tag}"));
        let mut pieces = tag.trim_end_matches('/').split('"');
        let mut head = pieces.next().unwrap().split_whitespace();
        let name = head.next().unwrap().to_owned();
        let mut attributes = BTreeMap::new();
        let mut key = head.next();
        while let (Some(attribute), Some(value)) = (key, pieces.next()) {
            let attribute = attribute.trim().strip_suffix('=').unwrap().to_owned();
            assert!(attributes.insert(attribute, value.to_owned()).is_none(), "twice in {tag}");
            key = pieces.next().map(str::trim).filter(|key| !key.is_empty());
        }
        (name, attributes)
    };
    xml.split('<').skip(1).map(element).collect()
}

/// Metrics that another version of libvmaf has under another name, or not at all.
const OF_ONE_VERSION: [&str; 2] = ["integer_motion", "integer_motion3"];

/// Without what differs by version, and without how fast it was.
fn comparable(xml: &str) -> Vec<Element> {
    let mut all = elements(xml);
    all.retain(|(_, attributes)| {
        attributes.get("name").is_none_or(|name| !OF_ONE_VERSION.contains(&name.as_str()))
    });
    for (_, attributes) in &mut all {
        attributes.retain(|name, _| !OF_ONE_VERSION.contains(&name.as_str()));
        for changing in ["fps", "version"] {
            attributes.entry(changing.to_owned()).and_modify(|value| "0".clone_into(value));
        }
    }
    // libvmaf lists metrics as they were registered, and we by name.
    let first = all.iter().position(|(name, _)| name == "metric").unwrap();
    let metrics = all[first..].iter().take_while(|(name, _)| name == "metric").count();
    all[first..first + metrics].sort_by(|(_, a), (_, b)| a["name"].cmp(&b["name"]));
    all
}

#[test]
fn the_xml_report_is_that_of_ffmpegs_filter() {
    let Some(program) = peer() else { return };
    let pair = Pair::encode(&program, "libx264", "yuv420p");
    let outcomes = [pair.score(&[Feature::Psnr])];
    let mut ours = Vec::new();
    ScoringReport { outcomes: &outcomes, speed: Some(9.5) }.write(ReportFormat::Xml, &mut ours).unwrap();
    let ours = comparable(std::str::from_utf8(&ours).unwrap());
    let theirs = comparable(&pair.filter_log(&program, "xml", ":feature=name=psnr"));

    assert_eq!(ours.len(), theirs.len());
    for ((name, ours), (their_name, theirs)) in ours.iter().zip(&theirs) {
        assert_eq!((name, ours.keys().collect::<Vec<_>>()), (their_name, theirs.keys().collect()));
        // Motion at the border of the picture differs by version, and the score with it.
        let by_version = |metric: &str| ["vmaf", "integer_motion2"].contains(&metric);
        let pooled = ours.get("name").is_some_and(|metric| by_version(metric));
        for (attribute, value) in ours {
            let (Ok(ours), Ok(their)) = (value.parse::<f64>(), theirs[attribute].parse::<f64>()) else {
                assert_eq!(value, &theirs[attribute], "{attribute} of {name}");
                continue;
            };
            let tolerance = if pooled || by_version(attribute) { TOLERANCE } else { 1e-6 };
            assert!((ours - their).abs() < tolerance, "{attribute} of {name}: ours {ours}, ffmpeg's {their}");
        }
    }
}
