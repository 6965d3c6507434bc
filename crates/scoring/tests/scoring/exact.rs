//! Scores have the same bits for all threads, steps, instruction sets and registrations.

use rstest::rstest;
use vmafx_job::{BitDepth, Feature};
use vmafx_scoring::engine::models::{ModelChoice, built_in};
use vmafx_scoring::engine::session::Registration;
use vmafx_scoring::engine::{Engine, InstructionSet};
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::Request;

use crate::clips::{Clips, LARGE, bits, every_model, format, named, outcome, run_alone, score_every};

fn request(clips: &Clips, frames: u64) -> Request {
    let mut request = clips.request(frames);
    request.models = every_model();
    request.options.features = Feature::ALL.to_vec();
    request.threads = 1;
    request
}

#[test]
fn every_model_scores_the_same_as_when_libvmaf_registers_its_features() {
    let clips = Clips::new(format(LARGE.0, LARGE.1));
    let mut together = request(&clips, 8);
    together.options.features.clear();
    let together = outcome(&together);
    for (index, model) in built_in().enumerate() {
        let mut plain = request(&clips, 8);
        plain.models = vec![ModelChoice::Named(model.name.to_owned())];
        plain.options.features.clear();
        plain.registration = Registration::Plain;
        let plain = outcome(&plain);
        assert_eq!(together.models[index].name, model.name);
        assert_eq!(together.models[index].scores, plain.models[0].scores, "{}", model.name);
        assert_eq!(together.models[index].intervals, plain.models[0].intervals, "{}", model.name);
        for (name, values) in &plain.features {
            assert_eq!(together.features.get(name), Some(values), "{name} of {}", model.name);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let clips = Clips::new(format(LARGE.0, LARGE.1));
    let mut request = request(&clips, 12);
    let one = bits(&outcome(&request));
    // With 6, clips are read ahead and motion has a thread of its own.
    for threads in [2, 4, 6] {
        request.threads = threads;
        assert_eq!(bits(&outcome(&request)), one, "{threads} threads");
    }
}

#[rstest]
#[case::avx2_only(48)]
#[case::no_simd(63)]
fn the_instruction_set_does_not_change_a_bit(#[case] mask: u64) {
    let clips = Clips::new(format(LARGE.0, LARGE.1));
    let mut request = request(&clips, 6);
    // Without the features that libvmaf sums in floating point, in an order that depends on the instruction set.
    request.options.features = vec![Feature::Psnr, Feature::Cambi];
    let fastest = bits(&run_alone(&request).unwrap()[0]);
    request.cpu_mask = mask;
    assert_eq!(bits(&run_alone(&request).unwrap()[0]), fastest);
}

#[rstest]
#[case::eight_bits(BitDepth::Eight, LARGE)]
#[case::ten_bits(BitDepth::Ten, LARGE)]
#[case::twelve_bits(BitDepth::Twelve, (337, 321))]
#[case::sixteen_bits(BitDepth::Sixteen, (321, 337))]
fn our_kernels_give_the_bits_of_libvmaf(
    #[case] depth: BitDepth,
    #[case] (width, height): (u32, u32),
    #[values(1, 3)] threads: u32,
) {
    let clips = Clips::new(PictureFormat { depth, ..format(width, height) });
    let mut request = clips.request(5);
    request.models = every_model();
    request.threads = threads;
    request.engine = Engine::Libvmaf;
    let libvmaf = bits(&outcome(&request));
    for set in InstructionSet::available() {
        request.engine = Engine::Native(set);
        for (ours, theirs) in bits(&outcome(&request)).iter().zip(&libvmaf) {
            assert_eq!(ours, theirs, "{set}");
        }
    }
}

/// Threads without a frame of their own help with another's.
#[rstest]
fn a_clip_with_fewer_frames_than_threads_has_the_same_scores(
    #[values(1, 2)] frames: u64,
    #[values(2, 6)] threads: u32,
) {
    let clips = Clips::new(format(1280, 832));
    let mut request = clips.request(frames);
    request.models = [named("vmaf_v0.6.1"), named("vmaf_v0.6.1neg"), named("vmaf_v1.0.16_3d0h")].concat();
    request.threads = 1;
    let alone = bits(&outcome(&request));
    request.threads = threads;
    for set in InstructionSet::available() {
        request.engine = Engine::Native(set);
        assert_eq!(bits(&outcome(&request)), alone, "{set}");
    }
}

#[test]
fn a_step_keeps_the_scores_of_the_frames_it_keeps() {
    let clips = Clips::new(format(LARGE.0, LARGE.1));
    let mut request = request(&clips, 17);
    let every = outcome(&request);
    score_every(&mut request, 3);
    let third = outcome(&request);
    assert_eq!(third.frames, [0, 3, 6, 9, 12, 15]);
    for (all, kept) in every.models.iter().zip(&third.models) {
        let expected: Vec<f64> = all.scores.iter().step_by(3).copied().collect();
        assert_eq!(kept.scores, expected, "{}", all.name);
    }
    for (name, all) in &every.features {
        let expected: Vec<f64> = all.iter().step_by(3).copied().collect();
        assert_eq!(third.features[name], expected, "{name}");
    }
}

#[test]
fn models_that_need_the_same_features_compute_them_once() {
    let clips = Clips::new(format(160, 90));
    let mut request = clips.request(4);
    request.models = [named("vmaf_v0.6.1"), named("vmaf_4k_v0.6.1")].concat();
    let names: Vec<String> = outcome(&request).features.into_keys().collect();
    assert_eq!(
        names,
        [
            "integer_adm2",
            "integer_adm_scale0",
            "integer_adm_scale1",
            "integer_adm_scale2",
            "integer_adm_scale3",
            "integer_motion2",
            "integer_motion3",
            "integer_vif_scale0",
            "integer_vif_scale1",
            "integer_vif_scale2",
            "integer_vif_scale3",
        ]
    );
}
