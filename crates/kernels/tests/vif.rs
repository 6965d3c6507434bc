//! VIF against libvmaf, and instruction sets against the scalar specification.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

mod support;

use rstest::rstest;
use support::libvmaf::{self, CpuMask};
use support::picture::{Content, Level, Picture, StoredPlane, distort};
use vmafx_kernels::{InstructionSet, Vif, VifConfig, VifError, VifScores, VifSums};

const GAIN_LIMITS: [f64; 2] = [100.0, 1.0];

/// A picture and a version that has less contrast and noise, more contrast, inverted samples, or nothing in common.
fn pair(content: Content, width: usize, height: usize, depth: u32) -> [Picture; 2] {
    let reference = content.draw(width, height, depth, 1);
    let distorted = match content {
        Content::Random => content.draw(width, height, depth, 2),
        Content::Extremes | Content::Checkerboard | Content::Blocks => distort(&reference, -1.0, 0, 1),
        Content::Noise | Content::Gradient | Content::Fractal => distort(&reference, 1.9, 0, 1),
        _ => distort(&reference, 0.8, 3, 1),
    };
    [reference, distorted]
}

/// All values that libvmaf's extractor emits.
fn libvmaf_values([reference, distorted]: &[Picture; 2], limit: f64, mask: CpuMask) -> Vec<(String, u64)> {
    let options = [("debug", "true"), ("vif_enhn_gain_limit", &limit.to_string())];
    let (default, suffix) = (limit.to_bits() == 100.0_f64.to_bits(), format!("_egl_{limit}"));
    let stored_name = |(name, scored): (String, bool)| match (default, scored) {
        (true, true) => format!("VMAF_integer_feature_{name}_score"),
        (true, false) => format!("integer_{name}"),
        (false, _) => format!("integer_{name}{suffix}"),
    };
    let stored_names: Vec<_> = names().map(stored_name).collect();
    let values = libvmaf::features(mask, "vif", &options, &[(reference, distorted)], &stored_names).remove(0);
    names().map(|(name, _)| name).zip(values.into_iter().map(f64::to_bits)).collect()
}

/// Names of features, and whether libvmaf calls them scores.
fn names() -> impl Iterator<Item = (String, bool)> {
    let per_scale = |scale| {
        [
            (format!("vif_scale{scale}"), true),
            (format!("vif_num_scale{scale}"), false),
            (format!("vif_den_scale{scale}"), false),
        ]
    };
    let total = ["vif", "vif_num", "vif_den"].map(|name| (name.to_owned(), false));
    (0..4).flat_map(per_scale).chain(total)
}

fn values(scores: &VifScores) -> Vec<(String, u64)> {
    let scales =
        scores.scales.iter().flat_map(|scale| [scale.score(), f64::from(scale.num), f64::from(scale.den)]);
    let all = scales.chain([scores.score(), scores.num(), scores.den()]).map(f64::to_bits);
    names().map(|(name, _)| name).zip(all).collect()
}

fn config(width: usize, height: usize, depth: u32, limit: f64, instruction_set: InstructionSet) -> VifConfig {
    VifConfig { width, height, depth, enhancement_gain_limit: limit, instruction_set }
}

fn sums<T: Level>(vif: &mut Vif, pair: [&Picture; 2]) -> (VifScores, [VifSums; 4]) {
    // Padding differs from the mirrored samples that belong there.
    let planes = pair.map(|picture| &picture.planes[0]);
    let stored = planes.map(|plane| plane.store::<T>(1 + plane.width % 7));
    let [reference, distorted] = stored.each_ref().map(StoredPlane::plane);
    (vif.measure(&reference, &distorted).unwrap(), vif.sums()[0])
}

fn measure(vif: &mut Vif, pair: [&Picture; 2]) -> (VifScores, [VifSums; 4]) {
    if pair[0].depth == 8 { sums::<u8>(vif, pair) } else { sums::<u16>(vif, pair) }
}

fn assert_equal_to_libvmaf(width: usize, height: usize, depth: u32) {
    for content in Content::ALL {
        let pair = pair(content, width, height, depth);
        for limit in GAIN_LIMITS {
            let mut vif = Vif::new(&config(width, height, depth, limit, InstructionSet::Scalar)).unwrap();
            let (scores, _) = measure(&mut vif, pair.each_ref());
            for mask in [CpuMask::None, CpuMask::All] {
                let expected = libvmaf_values(&pair, limit, mask);
                assert_eq!(
                    values(&scores),
                    expected,
                    "{content:?} {width}x{height} {depth} bit, limit {limit}, {mask:?}"
                );
            }
        }
    }
}

#[rstest]
#[case(33, 33)]
#[case(64, 48)]
#[case(97, 53)]
#[case(160, 90)]
#[case(251, 67)]
#[case(321, 183)]
fn all_values_are_those_of_libvmaf(
    #[case] width: usize,
    #[case] height: usize,
    #[values(8, 10, 12, 16)] depth: u32,
) {
    assert_equal_to_libvmaf(width, height, depth);
}

/// Compares sums of all scales, which show differences that `num` and `den` hide.
fn assert_equal_to_scalar(content: Content, width: usize, height: usize, depth: u32) {
    let [reference, distorted] = &pair(content, width, height, depth);
    for limit in GAIN_LIMITS {
        let sums = |instruction_set| {
            let mut vif = Vif::new(&config(width, height, depth, limit, instruction_set)).unwrap();
            // A second pair shows what the first one leaves behind.
            [[distorted, reference], [reference, distorted]].map(|pair| measure(&mut vif, pair).1)
        };
        let expected = sums(InstructionSet::Scalar);
        for set in InstructionSet::available().skip(1) {
            assert_eq!(sums(set), expected, "{set}, {content:?} {width}x{height} {depth} bit, limit {limit}");
        }
    }
}

fn assert_equal_to_scalar_at_all_depths(content: Content, width: usize, height: usize) {
    for depth in [8, 10, 12, 16] {
        assert_equal_to_scalar(content, width, height, depth);
    }
}

/// Each size gets one content, so that neighbours get all of them.
fn content_of(size: usize) -> Content {
    Content::ALL[size % Content::ALL.len()]
}

#[test]
fn instruction_sets_have_the_sums_of_the_specification_at_small_sizes() {
    for height in Vif::MIN_SIZE..50 {
        for width in [height, 16, 17, 33, 47] {
            assert_equal_to_scalar_at_all_depths(content_of(height + width), width, height);
        }
    }
}

/// Strips begin and end, and blocks are partly outside the picture.
#[test]
fn instruction_sets_have_the_sums_of_the_specification_at_all_widths() {
    for width in Vif::MIN_SIZE..=300 {
        assert_equal_to_scalar(content_of(width), width, 19, 8);
        assert_equal_to_scalar(content_of(width), width, 18, 10);
        assert_equal_to_scalar(Content::Random, width, 16, 8);
    }
}

#[rstest]
fn instruction_sets_have_the_sums_of_the_specification_with_all_contents(
    #[values((127, 64), (128, 99), (129, 37), (193, 41), (300, 300))] size: (usize, usize),
) {
    for content in Content::ALL {
        assert_equal_to_scalar_at_all_depths(content, size.0, size.1);
    }
}

#[test]
fn the_smallest_pictures_have_the_values_of_libvmaf() {
    for size in Vif::MIN_SIZE..33 {
        assert_equal_to_libvmaf(size, 33, 8);
        assert_equal_to_libvmaf(33, size, 8);
        assert_equal_to_libvmaf(size, size, 10);
    }
}

#[rstest]
#[case(15, 16)]
#[case(16, 15)]
fn smaller_pictures_are_refused(#[case] width: usize, #[case] height: usize) {
    let refused = Vif::new(&config(width, height, 8, 100.0, InstructionSet::Scalar));
    assert_eq!(refused.unwrap_err(), VifError::TooSmall { width, height });
}
