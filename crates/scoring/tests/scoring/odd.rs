//! Unusual picture formats and sizes.

use rstest::rstest;
use vmafx_job::{BitDepth, Feature, FeatureEngine, PixelFormat};
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::Request;

use crate::clips::{Clips, bits, every_model, format, named, outcome, raw, run};

#[rstest]
fn every_depth_and_chroma_is_scored(
    #[values(PixelFormat::Yuv420p, PixelFormat::Yuv422p, PixelFormat::Yuv444p)] chroma: PixelFormat,
    #[values(BitDepth::Eight, BitDepth::Ten, BitDepth::Twelve, BitDepth::Sixteen)] depth: BitDepth,
) {
    let clips = Clips::new(PictureFormat { width: 336, height: 320, chroma, depth });
    let mut request = clips.request(2);
    request.models = every_model();
    let outcome = outcome(&request);
    assert!(outcome.models.iter().all(|model| model.scores.len() == 2));
}

#[rstest]
#[case(337, 321)]
#[case(337, 320)]
fn odd_sizes_are_read_row_by_row(#[case] width: u32, #[case] height: u32) {
    let clips = Clips::new(format(width, height));
    let mut request = clips.request(3);
    request.models = every_model();
    let odd = outcome(&request);
    // If rows were read with an offset of one sample, the picture would be sheared and the score near zero.
    assert!(odd.models[0].scores.iter().all(|score| *score > 30.0), "{:?}", odd.models[0].scores);
    request.threads = 1;
    assert_eq!(bits(&outcome(&request)), bits(&odd));
}

#[rstest]
#[case(97, 33, true)]
#[case(40, 40, true)]
#[case(37, 33, true)]
#[case(36, 40, false)]
#[case(81, 60, false)]
#[case(32, 64, false)]
#[case(160, 32, false)]
#[case(16, 16, false)]
fn sizes_at_which_libvmaf_reads_what_it_never_wrote_are_refused(
    #[case] width: u32,
    #[case] height: u32,
    #[case] scored: bool,
) {
    let clips = Clips::new(format(width, height));
    let mut request = clips.request(2);
    request.models = named("vmaf_v0.6.1");
    match run(&request) {
        Ok(_) => assert!(scored),
        Err(error) => assert!(!scored && error.to_string().contains("too small"), "{error}"),
    }
}

#[test]
fn flat_pictures_have_a_score() {
    let clips = Clips::new(format(336, 320));
    let flat = |name: &str, value: u8| {
        std::fs::write(clips.path(name), vec![value; clips.format.bytes() * 3]).unwrap();
        raw(&clips.path(name), clips.format)
    };
    let mut request = Request::new(flat("a.yuv", 100), vec![flat("b.yuv", 120)]);
    request.models = every_model();
    let first = bits(&outcome(&request));
    assert_eq!(bits(&outcome(&request)), first);
}

/// libvmaf would write behind its pictures, which shows when they are freed, if at all.
#[rstest]
#[case(968, 51, true)]
#[case(56, 968, true)]
#[case(960, 96, false)]
fn cambi_refuses_pictures_that_are_too_narrow_for_its_window(
    #[case] width: u32,
    #[case] height: u32,
    #[case] refused: bool,
    #[values(FeatureEngine::Libvmaf, FeatureEngine::Native)] engine: FeatureEngine,
) {
    let clips = Clips::new(format(width, height));
    let mut request = clips.request(2);
    request.engine = engine.into();
    request.options.features = vec![Feature::Cambi];
    let needs = "cambi needs a longer side of at most ten times the shorter one";
    let error = run(&request).err().map(|error| error.to_string());
    assert_eq!(error.as_ref().is_some_and(|error| error.contains(needs)), refused, "{error:?}");
}
