//! Several distorted clips against one reference.

use rstest::rstest;
use vmafx_job::{Feature, FeatureEngine};
use vmafx_scoring::engine::{Engine, InstructionSet};
use vmafx_scoring::input::Tools;
use vmafx_scoring::score::Request;

use crate::clips::{
    Clips, LARGE, bits, every_model, format, named, outcome, run, score_every, score_shortest,
};

fn ladder(clips: &Clips, lengths: [u64; 3]) -> Request {
    let distorted = lengths.into_iter().zip([1, 3, 5]);
    let distorted =
        distorted.map(|(frames, loss)| clips.clip(&format!("loss{loss}.yuv"), frames, loss)).collect();
    let mut request = Request::new(clips.clip("reference.yuv", lengths[0].max(lengths[1]), 0), distorted);
    request.models = every_model();
    request.options.features = vec![Feature::Psnr];
    request
}

fn separately(request: &Request) -> Vec<Vec<(String, Vec<u64>)>> {
    let alone = |clip: &vmafx_scoring::input::Clip| {
        let mut request = request.clone();
        request.distorted = vec![clip.clone()];
        bits(&outcome(&request))
    };
    request.distorted.iter().map(alone).collect()
}

fn together(request: &Request) -> Vec<Vec<(String, Vec<u64>)>> {
    run(request).unwrap().iter().map(bits).collect()
}

#[rstest]
fn a_ladder_scores_like_its_clips_one_by_one(
    #[values(FeatureEngine::Libvmaf, FeatureEngine::Native)] engine: FeatureEngine,
    #[values(1, 2, 5)] threads: u32,
) {
    let clips = Clips::new(format(LARGE.0, LARGE.1));
    let mut request = ladder(&clips, [10, 10, 10]);
    request.engine = engine.into();
    request.threads = threads;
    assert_eq!(together(&request), separately(&request));
}

/// With so many clips, those of one frame are measured in two parts.
#[rstest]
fn our_kernels_give_a_ladder_the_bits_of_libvmaf(#[values(1, 2, 3, 7)] threads: u32) {
    let clips = Clips::new(format(448, 272));
    let clip = |loss: u8| clips.clip(&format!("loss{loss}.yuv"), 3, loss);
    let mut request = Request::new(clips.clip("reference.yuv", 3, 0), (1..=10).map(clip).collect());
    request.models = [named("vmaf_v0.6.1"), named("vmaf_v0.6.1neg"), named("vmaf_v1.0.16_3d0h")].concat();
    let libvmaf = together(&request);
    request.threads = threads;
    for set in InstructionSet::available() {
        request.engine = Engine::Native(set);
        for (ours, theirs) in together(&request).iter().flatten().zip(libvmaf.iter().flatten()) {
            assert_eq!(ours, theirs, "{set}");
        }
    }
}

#[test]
fn a_ladder_in_chunks_with_a_step_scores_like_its_clips_one_by_one() {
    let clips = Clips::new(format(LARGE.0, LARGE.1));
    let mut request = ladder(&clips, [22, 22, 22]);
    request.engine = FeatureEngine::Native.into();
    score_every(&mut request, 3);
    let whole = separately(&request);
    request.chunks = 3;
    assert_eq!(together(&request), whole);
}

#[rstest]
fn clips_that_end_earlier_score_as_if_the_reference_ended_there(
    #[values(1, 3)] chunks: u32,
    #[values(FeatureEngine::Libvmaf, FeatureEngine::Native)] engine: FeatureEngine,
    #[values(1, 2)] threads: u32,
) {
    let clips = Clips::new(format(LARGE.0, LARGE.1));
    let mut request = ladder(&clips, [18, 20, 7]);
    request.engine = engine.into();
    request.threads = threads;
    score_shortest(&mut request);
    let alone = separately(&request);
    request.chunks = chunks;
    assert_eq!(together(&request), alone);
    let outcomes = run(&request).unwrap();
    let unpaired: Vec<u64> = outcomes.iter().map(|outcome| outcome.alignment.unpaired_reference).collect();
    assert_eq!(unpaired, [2, 0, 13]);
}

#[rstest]
fn a_ladder_that_has_to_be_scaled_scores_like_its_clips_one_by_one(#[values(1, 2)] chunks: u32) {
    if Tools::from_process_env().ffmpeg().is_none() {
        vmafx_testkit::prerequisite::skip("there is no ffmpeg; `make test` provides one");
        return;
    }
    let (clips, small) = (Clips::new(format(320, 192)), Clips::new(format(160, 96)));
    let mut request = Request::new(clips.clip("reference.yuv", 12, 0), vec![clips.clip("same.yuv", 12, 2)]);
    request.distorted.push(small.clip("small.yuv", 12, 1));
    request.distorted.push(small.clip("smaller.yuv", 12, 4));
    request.models = [named("vmaf_v0.6.1"), named("vmaf_v1.0.16_hfr_3d0h")].concat();
    let alone = separately(&request);
    request.chunks = chunks;
    assert_eq!(together(&request), alone);
    let scaled: Vec<_> =
        run(&request).unwrap().into_iter().map(|outcome| outcome.alignment.scaled_by).collect();
    assert_eq!(scaled, [None, Some("bicubic".to_owned()), Some("bicubic".to_owned())]);
}
