//! CAMBI's scores equal libvmaf's to the last bit.

#![allow(clippy::unwrap_used)] // Helpers of tests.

mod support;

use rstest::rstest;
use support::libvmaf::{self, CpuMask};
use support::picture::{Content, Level, Picture};
use vmafx_kernels::{Cambi, CambiConfig, CambiError, CambiOptions, Eotf, HalveFrom, InstructionSet};

const V1_OPTIONS: [(&str, &str); 3] =
    [("cambi_high_res_speedup", "1080"), ("cambi_vis_lum_threshold", "0.06"), ("cambi_max_val", "17")];
const V1_NAME: &str = "cambi_hrs_1080_cmxv_17_vlt_0.06";
const PLAIN_NAME: &str = "Cambi_feature_cambi_score";

fn ours<T: Level>(picture: &Picture, options: CambiOptions, instruction_set: InstructionSet) -> f64 {
    let (width, height, depth) = picture.geometry();
    let config = CambiConfig { width, height, depth, options, instruction_set };
    let mut cambi = Cambi::new(&config).unwrap();
    let luma = picture.planes[0].store::<T>(width % 5);
    // The second measurement finds buffers with the traces of the first.
    let scores = [(); 2].map(|()| cambi.measure(&luma.plane()).unwrap());
    assert_eq!(scores[0], scores[1]);
    scores[0].cambi
}

/// Compares our score with libvmaf's for each instruction set of this CPU.
fn assert_equal(picture: &Picture, options: CambiOptions, theirs: &[(&str, &str)], name: &str) -> f64 {
    let names = [name.to_owned()];
    let expected = libvmaf::features(CpuMask::None, "cambi", theirs, &[(picture, picture)], &names)[0][0];
    let ours = if picture.depth == 8 { ours::<u8> } else { ours::<u16> };
    for set in InstructionSet::available() {
        let found = ours(picture, options, set);
        assert_eq!(found.to_bits(), expected.to_bits(), "{set}: {found} instead of {expected}");
    }
    expected
}

#[rstest]
fn every_content_scores_the_same(
    #[values(8, 10, 12, 16)] depth: u32,
    #[values((320, 180), (217, 61), (131, 301))] size: (usize, usize),
) {
    for content in Content::ALL {
        let picture = content.draw(size.0, size.1, depth, 1);
        assert_equal(&picture, CambiOptions::of_v1_models(), &V1_OPTIONS, V1_NAME);
        assert_equal(&picture, CambiOptions::default(), &[], PLAIN_NAME);
    }
}

#[test]
fn banded_content_has_a_score() {
    for content in [Content::Bands, Content::Stripes, Content::Cells] {
        let picture = content.draw(320, 180, 8, 0);
        let score = assert_equal(&picture, CambiOptions::of_v1_models(), &V1_OPTIONS, V1_NAME);
        assert!(score > 0.1, "{content:?}: {score}");
    }
}

#[rstest]
#[case(1920, 1080)]
#[case(1921, 1081)]
#[case(2560, 1440)]
fn large_pictures_are_halved_first(#[case] width: usize, #[case] height: usize) {
    for content in [Content::Natural, Content::Bands] {
        let picture = content.draw(width, height, 8, 3);
        assert_equal(&picture, CambiOptions::of_v1_models(), &V1_OPTIONS, V1_NAME);
    }
}

#[test]
fn sums_that_depend_on_their_order_are_the_same() {
    // Stripes have a response of about 1 000 at most of two million pixels; those of noise are small, and pooled too.
    let mut picture = Content::Stripes.draw(1920, 1080, 8, 0);
    let noise = Content::Noise.draw(1920, 1080, 8, 0);
    for (index, sample) in picture.planes[0].samples.iter_mut().enumerate() {
        if index % 1920 < 200 {
            *sample = noise.planes[0].samples[index];
        }
    }
    let options = CambiOptions { pooled_share: 0.95, ..CambiOptions::default() };
    assert_equal(&picture, options, &[("cambi_topk", "0.95")], "cambi_ctpk_0.95");
}

#[rstest]
#[case(CambiOptions { eotf: Eotf::Pq, ..CambiOptions::default() }, &[("cambi_eotf", "pq")], "cambi_ceot_pq")]
#[case(CambiOptions { window: 127, ..CambiOptions::default() }, &[("window_size", "127")], "cambi_ws_127")]
#[case(CambiOptions { pooled_share: 0.01, ..CambiOptions::default() }, &[("cambi_topk", "0.01")], "cambi_ctpk_0.01")]
#[case(CambiOptions { pooled_share: 1.0, ..CambiOptions::default() }, &[("cambi_topk", "1")], "cambi_ctpk_1")]
#[case(CambiOptions { tvi_threshold: 0.05, ..CambiOptions::default() }, &[("tvi_threshold", "0.05")], "cambi_tvit_0.05")]
#[case(CambiOptions { luminance_threshold: 20.0, ..CambiOptions::default() }, &[("cambi_vis_lum_threshold", "20")], "cambi_vlt_20")]
#[case(CambiOptions { max_log_contrast: 0, ..CambiOptions::default() }, &[("max_log_contrast", "0")], "cambi_mlc_0")]
#[case(CambiOptions { max_log_contrast: 1, ..CambiOptions::default() }, &[("max_log_contrast", "1")], "cambi_mlc_1")]
#[case(CambiOptions { max_log_contrast: 5, ..CambiOptions::default() }, &[("max_log_contrast", "5")], "cambi_mlc_5")]
#[case(CambiOptions { halve_from: Some(HalveFrom::P2160), ..CambiOptions::default() }, &[("cambi_high_res_speedup", "2160")], "cambi_hrs_2160")]
#[case(CambiOptions { max_value: 1.5, ..CambiOptions::default() }, &[("cambi_max_val", "1.5")], "cambi_cmxv_1.5")]
fn every_option_scores_the_same(
    #[case] options: CambiOptions,
    #[case] theirs: &[(&str, &str)],
    #[case] name: &str,
) {
    for content in [Content::Natural, Content::Bands, Content::Stripes, Content::Noise] {
        for depth in [8, 10] {
            let picture = content.draw(420, 250, depth, 5);
            assert_equal(&picture, options, theirs, name);
        }
    }
}

#[test]
fn a_sample_beyond_the_depth_is_an_error() {
    let mut picture = Content::Natural.draw(300, 300, 10, 5);
    picture.planes[0].samples[89_999] = 1024;
    let config = CambiConfig {
        width: 300,
        height: 300,
        depth: 10,
        options: CambiOptions::default(),
        instruction_set: InstructionSet::best(),
    };
    for set in InstructionSet::available() {
        let mut cambi = Cambi::new(&CambiConfig { instruction_set: set, ..config }).unwrap();
        assert_eq!(
            cambi.measure(&picture.planes[0].store::<u16>(0).plane()),
            Err(CambiError::Sample { depth: 10 }),
            "{set}"
        );
    }
}

#[rstest]
#[case(215, 215, 8, CambiError::TooSmall { width: 215, height: 215 })]
#[case(1000, 40, 8, CambiError::TooNarrow { width: 1000, height: 40 })]
#[case(300, 300, 17, CambiError::Depth { depth: 17 })]
fn pictures_that_libvmaf_cannot_score_are_refused(
    #[case] width: usize,
    #[case] height: usize,
    #[case] depth: u32,
    #[case] error: CambiError,
) {
    let config = CambiConfig {
        width,
        height,
        depth,
        options: CambiOptions::default(),
        instruction_set: InstructionSet::Scalar,
    };
    assert_eq!(Cambi::new(&config).map(|_| ()), Err(error));
}
