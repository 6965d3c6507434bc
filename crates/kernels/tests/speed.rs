//! `SpEED`'s scores equal libvmaf's to the last bit, for each order of sums that libvmaf has.

#![allow(clippy::unwrap_used)] // Helpers of tests.

mod support;

use rstest::rstest;
use support::libvmaf::{self, CpuMask};
use support::picture::{Chroma, Content, Level, Picture, StoredPlane, TestPlane};
use vmafx_kernels::{
    InstructionSet, Prescale, PrescaleMethod, Speed, SpeedConfig, SpeedError, SpeedOptions, SummationOrder,
    VarianceWeighting,
};

const UNSCALED: Prescale = Prescale { factor: 1.0, method: PrescaleMethod::Nearest };

/// The options of a v1 model, for libvmaf.
const V1_OPTIONS: [(&str, &str); 4] = [
    ("speed_nn_floor", "0.1"),
    ("speed_sigma_nn", "0.19"),
    ("speed_weight_var_mode", "5"),
    ("speed_max_val", "45"),
];
const V1_SUFFIX: &str = "mxv_45_nnf_0.1_snn_0.19_wvm_5";

fn ours<T: Level>(
    reference: &Picture,
    distorted: &Picture,
    options: SpeedOptions,
    order: SummationOrder,
    instruction_set: InstructionSet,
) -> [f64; 3] {
    let TestPlane { width, height, .. } = reference.planes[1];
    let config = SpeedConfig { width, height, depth: reference.depth, options, order, instruction_set };
    let mut speed = Speed::new(&config).unwrap();
    let stored =
        [reference, distorted].map(|picture| [1, 2].map(|plane| picture.planes[plane].store::<T>(width % 5)));
    let [reference, distorted] = stored.each_ref().map(|planes| planes.each_ref().map(StoredPlane::plane));
    // The second measurement finds buffers with the traces of the first.
    let scores = [(); 2].map(|()| speed.measure(reference.each_ref(), distorted.each_ref()).unwrap());
    assert_eq!(scores[0], scores[1]);
    [scores[0].u, scores[0].v, scores[0].uv]
}

/// Compares our scores with libvmaf's for each order and instruction set of this CPU.
fn assert_equal(
    reference: &Picture,
    distorted: &Picture,
    options: SpeedOptions,
    theirs: &[(&str, &str)],
    suffix: &str,
) -> [f64; 3] {
    let names = ["u", "v", "uv"].map(|plane| {
        if suffix.is_empty() {
            format!("Speed_chroma_feature_speed_chroma_{plane}_score")
        } else {
            format!("speed_chroma_{plane}_{suffix}")
        }
    });
    let ours = if reference.depth == 8 { ours::<u8> } else { ours::<u16> };
    let mut last = [0.0; 3];
    let sets = [
        (InstructionSet::Scalar, CpuMask::All, SummationOrder::Sequential),
        (InstructionSet::Avx2, CpuMask::Avx512, SummationOrder::Avx2),
        (InstructionSet::Avx512, CpuMask::None, SummationOrder::Avx512),
    ];
    for (set, mask, order) in sets {
        if !set.is_available() {
            continue;
        }
        let expected = libvmaf::features(mask, "speed_chroma", theirs, &[(reference, distorted)], &names);
        for set in InstructionSet::available() {
            last = ours(reference, distorted, options, order, set);
            let bits = |scores: &[f64]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&last), bits(&expected[0]), "{set}, {order:?}: {last:?} instead of {expected:?}");
        }
    }
    last
}

#[rstest]
fn every_content_scores_the_same(
    #[values(8, 10, 12, 16)] depth: u32,
    #[values(
        (480, 270, Chroma::Both),
        (321, 183, Chroma::Both),
        (333, 161, Chroma::Horizontal),
        (201, 301, Chroma::Full),
        (801, 603, Chroma::Both)
    )]
    size: (usize, usize, Chroma),
) {
    let (width, height, chroma) = size;
    let natural = Content::Natural.picture(width, height, depth, chroma, 2);
    for content in Content::ALL {
        let reference = content.picture(width, height, depth, chroma, 1);
        let distorted = content.picture(width, height, depth, chroma, 2);
        let v1 = SpeedOptions::of_v1_models(UNSCALED);
        assert_equal(&reference, &distorted, v1, &V1_OPTIONS, V1_SUFFIX);
        assert_equal(&reference, &natural, SpeedOptions::default(), &[], "");
    }
}

#[test]
fn different_pictures_have_a_score() {
    let reference = Content::Natural.picture(640, 360, 8, Chroma::Both, 1);
    let distorted = Content::Natural.picture(640, 360, 8, Chroma::Both, 7);
    let v1 = SpeedOptions::of_v1_models(UNSCALED);
    let scores = assert_equal(&reference, &distorted, v1, &V1_OPTIONS, V1_SUFFIX);
    assert!(scores.iter().all(|score| (0.01..45.0).contains(score)), "{scores:?}");
}

#[rstest]
#[case(1.0, PrescaleMethod::Nearest, "")]
#[case(0.5, PrescaleMethod::Bilinear, "ps_0.5_psm_bilinear")]
#[case(0.6, PrescaleMethod::Bilinear, "ps_0.6_psm_bilinear")]
#[case(0.5, PrescaleMethod::Nearest, "ps_0.5")]
#[case(0.777, PrescaleMethod::Nearest, "ps_0.777")]
#[case(0.777, PrescaleMethod::Bilinear, "ps_0.777_psm_bilinear")]
fn every_scale_of_the_models_scores_the_same(
    #[case] factor: f64,
    #[case] method: PrescaleMethod,
    #[case] suffix: &str,
) {
    let factor_text = factor.to_string();
    let mut theirs = V1_OPTIONS.to_vec();
    theirs.push(("speed_prescale", &factor_text));
    theirs.push((
        "speed_prescale_method",
        if method == PrescaleMethod::Nearest { "nearest" } else { "bilinear" },
    ));
    let suffix = if suffix.is_empty() {
        V1_SUFFIX.to_owned()
    } else {
        V1_SUFFIX.replace("_snn", &format!("_{suffix}_snn"))
    };
    for (width, height) in [(640, 360), (1920, 1080), (487, 393)] {
        for depth in [8, 10] {
            let reference = Content::Natural.picture(width, height, depth, Chroma::Both, 1);
            let distorted = Content::Noise.picture(width, height, depth, Chroma::Both, 1);
            let options = SpeedOptions::of_v1_models(Prescale { factor, method });
            assert_equal(&reference, &distorted, options, &theirs, &suffix);
        }
    }
}

#[test]
fn every_weighting_scores_the_same() {
    let reference = Content::Natural.picture(640, 360, 8, Chroma::Both, 1);
    let distorted = Content::Natural.picture(640, 360, 8, Chroma::Both, 2);
    for (number, weighting) in VarianceWeighting::ALL.into_iter().enumerate() {
        let number = number.to_string();
        let options = SpeedOptions { weighting, ..SpeedOptions::default() };
        let suffix = if number == "0" { String::new() } else { format!("wvm_{number}") };
        let theirs = [("speed_weight_var_mode", number.as_str())];
        assert_equal(&reference, &distorted, options, &theirs, &suffix);
    }
}

#[test]
fn a_flat_plane_takes_the_score_of_the_other() {
    let flat = Content::Flat.picture(640, 360, 8, Chroma::Both, 1);
    let mut reference = Content::Natural.picture(640, 360, 8, Chroma::Both, 1);
    let mut distorted = Content::Random.picture(640, 360, 8, Chroma::Both, 2);
    let v1 = SpeedOptions::of_v1_models(UNSCALED);
    for plane in [1, 2] {
        let (saved, other_saved) = (reference.planes.clone(), distorted.planes.clone());
        reference.planes[plane] = flat.planes[plane].clone();
        assert_equal(&reference, &distorted, v1, &V1_OPTIONS, V1_SUFFIX);
        distorted.planes[plane] = flat.planes[plane].clone();
        let scores = assert_equal(&reference, &distorted, v1, &V1_OPTIONS, V1_SUFFIX);
        assert_eq!(scores[2].to_bits(), scores[2 - plane].to_bits());
        (reference.planes, distorted.planes) = (saved, other_saved);
    }
}

#[rstest]
#[case(79, 200, 8, SpeedError::TooSmall { width: 79, height: 200 })]
#[case(200, 79, 8, SpeedError::TooSmall { width: 200, height: 79 })]
#[case(200, 200, 9, SpeedError::Depth { depth: 9 })]
fn pictures_that_libvmaf_cannot_score_are_refused(
    #[case] width: usize,
    #[case] height: usize,
    #[case] depth: u32,
    #[case] error: SpeedError,
) {
    let config = SpeedConfig {
        width,
        height,
        depth,
        options: SpeedOptions::default(),
        order: SummationOrder::Avx2,
        instruction_set: InstructionSet::Scalar,
    };
    assert_eq!(Speed::new(&config).map(|_| ()), Err(error));
}
