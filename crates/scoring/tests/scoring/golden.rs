//! Netflix's own clips and the scores that Netflix publishes for them.

use rstest::rstest;
use vmafx_job::BitDepth;
use vmafx_scoring::outcome::ScoringOutcome;
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::Request;

use crate::clips::{format, golden, named, outcome};

const REFERENCE_10: &str = "src01_hrc00_576x324.yuv420p10le.yuv";
const DISTORTED_10: &str = "src01_hrc01_576x324.yuv420p10le.yuv";
const REFERENCE_8: &str = "ref_160x90.yuv";
const DISTORTED_8: &str = "dis_160x90.yuv";

fn ten() -> PictureFormat {
    PictureFormat { depth: BitDepth::Ten, ..format(576, 324) }
}

fn compare(format: PictureFormat, reference: &str, distorted: &str) -> ScoringOutcome {
    let mut request = Request::new(golden(reference, format), vec![golden(distorted, format)]);
    request.models = named("vmaf_v0.6.1");
    outcome(&request)
}

#[allow(clippy::cast_precision_loss)] // A few frames.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[rstest]
#[case::ten_bit(ten(), REFERENCE_10, DISTORTED_10, 3, 82.564_224_666_666_68, 1e-4)]
#[case::ten_bit_with_itself(ten(), REFERENCE_10, REFERENCE_10, 3, 99.142_826, 1e-4)]
#[case::tiny(format(160, 90), REFERENCE_8, DISTORTED_8, 48, 92.520_958_880_423_86, 5e-3)]
#[case::tiny_with_itself(format(160, 90), REFERENCE_8, REFERENCE_8, 48, 99.306_673_162_665_32, 1e-4)]
fn the_mean_is_what_netflix_publishes(
    #[case] format: PictureFormat,
    #[case] reference: &str,
    #[case] distorted: &str,
    #[case] frames: usize,
    #[case] expected: f64,
    #[case] tolerance: f64,
) {
    let outcome = compare(format, reference, distorted);
    let scores = &outcome.models[0].scores;
    assert_eq!(scores.len(), frames);
    assert!((mean(scores) - expected).abs() < tolerance, "{} instead of {expected}", mean(scores));
}

#[rstest]
#[case::ten_bit(ten(), REFERENCE_10, DISTORTED_10, [0.433_089_3, 0.830_613, 0.907_212_3, 0.945_896, 2.809_549_3, 0.951_776_3])]
#[case::tiny(format(160, 90), REFERENCE_8, DISTORTED_8, [0.689_539_1, 0.957_620_2, 0.976_969_3, 0.982_918_1, 1.357_741_7, 0.980_749_7])]
fn the_features_are_what_netflix_publishes(
    #[case] format: PictureFormat,
    #[case] reference: &str,
    #[case] distorted: &str,
    #[case] expected: [f64; 6],
) {
    let outcome = compare(format, reference, distorted);
    let names = [
        "integer_vif_scale0",
        "integer_vif_scale1",
        "integer_vif_scale2",
        "integer_vif_scale3",
        "integer_motion2",
        "integer_adm2",
    ];
    for (name, expected) in names.into_iter().zip(expected) {
        let found = mean(&outcome.features[name]);
        assert!((found - expected).abs() < 1e-4, "{name} is {found} instead of {expected}");
    }
}

#[test]
fn the_outcome_tells_what_was_compared() {
    let outcome = compare(ten(), REFERENCE_10, DISTORTED_10);
    assert_eq!(outcome.frames, [0, 1, 2]);
    assert_eq!((outcome.reference.frames, outcome.distorted.frames), (3, 3));
    assert_eq!(outcome.alignment.format, ten());
    assert!(outcome.reference.digest.starts_with("blake3:") && outcome.reference.digest.len() == 71);
    assert_ne!(outcome.reference.digest, outcome.distorted.digest);
    assert!(outcome.models[0].digest.starts_with("sha256:") && outcome.models[0].digest.len() == 71);
    assert_eq!(outcome.models[0].picked_because, None);
    assert_eq!(outcome.warnings, []);
    assert!(!outcome.engine.libvmaf.is_empty());
}
