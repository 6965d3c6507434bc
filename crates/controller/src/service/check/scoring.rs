//! What to score.

use vmafx_queue::scoring::{RawVideo, ScaleTo, Scoring};

use super::text::{at_most, path, required_word, word};
use super::{LONGEST_MODEL, LONGEST_URI};
use crate::refusal::Refusal;

/// Backends that a job can ask for and a node can serve.
pub const BACKENDS: [&str; 5] = ["cpu", "cuda", "sycl", "hip", "metal"];
/// Metrics that a job can ask for besides its model's.
pub const FEATURES: [&str; 5] = ["psnr", "ssim", "ms-ssim", "cambi", "ciede"];

const MOST_ASKED: usize = 16;
const LARGEST_STEP: u32 = 10_000;
const LARGEST_SIDE: u32 = 65_535;
const LARGEST_SCALE: u32 = 9_999;
const DEPTHS: [u32; 4] = [8, 10, 12, 16];

/// Checks everything but the roots; `within` is the message that the fields stand in, if any.
pub(in crate::service) fn scoring(within: &str, scoring: &Scoring) -> Result<(), Refusal> {
    let at = |field: &str| path(within, field);
    required_word(&at("reference"), &scoring.reference, LONGEST_URI)?;
    required_word(&at("distorted"), &scoring.distorted, LONGEST_URI)?;
    word(&at("report_uri"), &scoring.report_uri, LONGEST_URI)?;
    word(&at("model"), &scoring.model, LONGEST_MODEL)?;
    if !scoring.backend.is_empty() {
        one_of(&at("backend"), &scoring.backend, &BACKENDS)?;
    }
    at_most(&at("features"), scoring.features.len(), MOST_ASKED)?;
    for (index, feature) in scoring.features.iter().enumerate() {
        one_of(&format!("{}[{index}]", at("features")), feature, &FEATURES)?;
    }
    if scoring.frame_step > LARGEST_STEP {
        return Err(Refusal::invalid(at("frame_step"), format!("must be at most {LARGEST_STEP}")));
    }
    if let Some(input) = &scoring.input {
        raw_video(&at("input"), input)?;
    }
    if let Some(ScaleTo::Size { width, height }) = scoring.scale_to {
        side(&at("scale_to.size.width"), width, LARGEST_SCALE)?;
        side(&at("scale_to.size.height"), height, LARGEST_SCALE)?;
    }
    Ok(())
}

fn raw_video(within: &str, input: &RawVideo) -> Result<(), Refusal> {
    side(&path(within, "width"), input.width, LARGEST_SIDE)?;
    side(&path(within, "height"), input.height, LARGEST_SIDE)?;
    if DEPTHS.contains(&input.bit_depth) {
        return Ok(());
    }
    Err(Refusal::invalid(path(within, "bit_depth"), "must be 8, 10, 12 or 16"))
}

fn side(field: &str, pixels: u32, largest: u32) -> Result<(), Refusal> {
    if (1..=largest).contains(&pixels) {
        return Ok(());
    }
    Err(Refusal::invalid(field, format!("must be between 1 and {largest}")))
}

/// One of a closed list.
pub(super) fn one_of(field: &str, word: &str, all: &[&str]) -> Result<(), Refusal> {
    if all.contains(&word) {
        return Ok(());
    }
    Err(Refusal::invalid(field, format!("must be one of {}", all.join(", "))))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_queue::scoring::PlaneLayout;

    use super::*;

    fn good() -> Scoring {
        Scoring { reference: "/r.y4m".into(), distorted: "/d.y4m".into(), ..Scoring::default() }
    }

    fn raw(width: u32, height: u32, bit_depth: u32) -> Scoring {
        let input = RawVideo { width, height, pixel_format: PlaneLayout::Yuv420p, bit_depth };
        Scoring { input: Some(input), ..good() }
    }

    #[rstest]
    #[case::no_reference(Scoring { reference: String::new(), ..good() }, "scoring.reference: is required")]
    #[case::no_distorted(Scoring { distorted: String::new(), ..good() }, "scoring.distorted: is required")]
    #[case::long_reference(Scoring { reference: "x".repeat(4097), ..good() }, "scoring.reference: must have at most 4096 characters")]
    #[case::control(Scoring { distorted: "/a\nb".into(), ..good() }, "scoring.distorted: must not contain control characters")]
    #[case::long_model(Scoring { model: "m".repeat(1025), ..good() }, "scoring.model: must have at most 1024 characters")]
    #[case::report(Scoring { report_uri: "/a\0".into(), ..good() }, "scoring.report_uri: must not contain control characters")]
    #[case::backend(Scoring { backend: "vulkan".into(), ..good() }, "scoring.backend: must be one of cpu, cuda, sycl, hip, metal")]
    #[case::feature(Scoring { features: vec!["psnr".into(), "PSNR".into()], ..good() }, "scoring.features[1]: must be one of psnr, ssim, ms-ssim, cambi, ciede")]
    #[case::features(Scoring { features: vec!["psnr".into(); 17], ..good() }, "scoring.features: must have at most 16 items")]
    #[case::step(Scoring { frame_step: 10_001, ..good() }, "scoring.frame_step: must be at most 10000")]
    #[case::width(raw(0, 1, 8), "scoring.input.width: must be between 1 and 65535")]
    #[case::height(raw(1, 65_536, 8), "scoring.input.height: must be between 1 and 65535")]
    #[case::depth(raw(1, 1, 9), "scoring.input.bit_depth: must be 8, 10, 12 or 16")]
    #[case::scale(Scoring { scale_to: Some(ScaleTo::Size { width: 10_000, height: 1 }), ..good() }, "scoring.scale_to.size.width: must be between 1 and 9999")]
    fn a_refusal_names_the_field_and_the_rule(#[case] asked: Scoring, #[case] expected: &str) {
        assert_eq!(scoring("scoring", &asked).unwrap_err().to_string(), expected);
    }

    #[test]
    fn the_limits_themselves_are_allowed() {
        let most = Scoring {
            reference: "x".repeat(4096),
            model: "m".repeat(1024),
            backend: "metal".into(),
            features: vec!["ms-ssim".into(); 16],
            frame_step: 10_000,
            scale_to: Some(ScaleTo::Size { width: 9_999, height: 1 }),
            ..raw(65_535, 1, 16)
        };
        assert_eq!(scoring("", &most), Ok(()));
    }

    #[test]
    fn the_lists_are_those_of_the_custom_resource() {
        use vmafx_api::job::{Backend, Feature};
        let word = |value: serde_json::Value| value.as_str().unwrap().to_owned();
        let backends = [Backend::Cpu, Backend::Cuda, Backend::Sycl, Backend::Hip, Backend::Metal];
        assert_eq!(backends.map(|backend| word(serde_json::to_value(backend).unwrap())), BACKENDS);
        let features = [Feature::Psnr, Feature::Ssim, Feature::MsSsim, Feature::Cambi, Feature::Ciede];
        assert_eq!(features.map(|feature| word(serde_json::to_value(feature).unwrap())), FEATURES);
    }
}
