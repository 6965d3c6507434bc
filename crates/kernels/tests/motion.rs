//! Motion against libvmaf, to the last bit.

#![allow(clippy::unwrap_used)]

mod support;

use rstest::rstest;
use support::libvmaf::{self, CpuMask};
use support::picture::{Content, Level, Picture, distort};
use vmafx_kernels::{InstructionSet, Motion, MotionConfig, MotionOptions};

fn measure<T: Level>(
    set: InstructionSet,
    options: MotionOptions,
    frames: &[Picture],
    length: usize,
) -> Vec<[f64; 3]> {
    let (width, height, depth) = frames[0].geometry();
    let config = MotionConfig { width, height, depth, options, instruction_set: set };
    let mut motion = Motion::new(&config).unwrap();
    for frame in frames {
        motion.push(&frame.planes[0].store::<T>(0).plane()).unwrap();
    }
    let scores = motion.series().scores(length);
    let sads = motion.series().sads();
    scores.iter().zip(sads).map(|(scores, &sad)| [sad, scores.motion2, scores.motion3]).collect()
}

fn check(
    mask: CpuMask,
    options: &[(&str, &str)],
    suffix: &str,
    kernels: MotionOptions,
    frames: &[Picture],
    length: usize,
) {
    let names = ["motion_sad", "motion2", "motion3"].map(|name| {
        if suffix.is_empty() || name == "motion_sad" {
            format!("VMAF_integer_feature_{name}_score{suffix}")
        } else {
            format!("integer_{name}{suffix}")
        }
    });
    let pairs: Vec<_> = frames[..length].iter().map(|frame| (frame, frame)).collect();
    let theirs = libvmaf::features(mask, "motion", options, &pairs, &names);
    let measure = if frames[0].depth == 8 { measure::<u8> } else { measure::<u16> };
    for set in InstructionSet::available() {
        let ours = measure(set, kernels, frames, length);
        let size = frames[0].geometry();
        let bits = |value: f64| value.to_bits();
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let equal =
                ours.map(bits).to_vec() == theirs.iter().map(|&value| bits(value)).collect::<Vec<_>>();
            assert!(equal, "{set}, {mask:?}, {size:?}, frame {index}: {ours:?} instead of {theirs:?}");
        }
        assert_eq!(ours.len(), theirs.len());
    }
}

/// Frames of one kind of content, with small and large changes and a repeated one.
fn clip(content: Content, width: usize, height: usize, depth: u32) -> Vec<Picture> {
    let first = content.draw(width, height, depth, 1);
    let second = distort(&first, 0.97, 2, 3);
    let third = content.draw(width, height, depth, 9);
    vec![
        first,
        second.clone(),
        second,
        third.clone(),
        distort(&third, -1.0, 9, 4),
        distort(&third, 1.1, 1, 8),
    ]
}

#[rstest]
fn all_content_gives_the_same_bits(
    #[values(8, 10, 12, 16)] depth: u32,
    #[values(CpuMask::None, CpuMask::Avx512, CpuMask::All)] mask: CpuMask,
) {
    for (width, height) in
        [(16, 16), (17, 19), (33, 32), (64, 35), (97, 61), (130, 18), (255, 40), (320, 180)]
    {
        for content in Content::ALL {
            check(mask, &[], "", MotionOptions::default(), &clip(content, width, height, depth), 6);
        }
        let mut mixed: Vec<_> =
            Content::ALL.into_iter().map(|content| content.draw(width, height, depth, 3)).collect();
        mixed.rotate_left(3);
        check(mask, &[], "", MotionOptions::default(), &mixed, mixed.len());
    }
}

#[rstest]
#[case::v1(&[("motion_max_val", "18")], "_mmxv_18", MotionOptions { max_value: 18.0, ..MotionOptions::default() })]
#[case::v1_fast(
    &[("motion_max_val", "18"), ("motion_five_frame_window", "true"), ("motion_moving_average", "true")],
    "_mffw_mmxv_18_mma",
    MotionOptions { max_value: 18.0, five_frame_window: true, moving_average: true, ..MotionOptions::default() },
)]
#[case::blended(
    &[("motion_blend_factor", "0.5"), ("motion_blend_offset", "2"), ("motion_fps_weight", "1.5")],
    "_mbf_0.5_mbo_2_mfw_1.5",
    MotionOptions { blend_factor: 0.5, blend_offset: 2.0, fps_weight: 1.5, ..MotionOptions::default() },
)]
#[case::zero(&[("motion_force_zero", "true")], "_force_0", MotionOptions { force_zero: true, ..MotionOptions::default() })]
fn all_options_give_the_same_bits(
    #[case] options: &[(&str, &str)],
    #[case] suffix: &str,
    #[case] kernels: MotionOptions,
) {
    for content in [Content::Noise, Content::Random] {
        let frames = clip(content, 97, 61, 8);
        for length in 1..=frames.len() {
            check(CpuMask::None, options, suffix, kernels, &frames, length);
        }
    }
}
