//! ADM against libvmaf, to the last bit.

#![allow(clippy::unwrap_used)]

#[path = "luma/content.rs"]
mod content;
#[path = "luma/libvmaf.rs"]
mod libvmaf;

use content::{Content, distort};
use libvmaf::{CpuMask, Luma};
use rstest::rstest;
use vmafx_kernels::{Adm, AdmConfig, AdmOptions, AdmScores, ContrastSensitivity, InstructionSet, Plane};

/// Options as libvmaf reads them, the suffix that they give to names, and the same options for the kernels.
struct Options {
    libvmaf: &'static [(&'static str, &'static str)],
    suffix: &'static str,
    kernels: AdmOptions,
}

fn classic() -> Options {
    let kernels = AdmOptions { skip_aim: true, ..AdmOptions::default() };
    Options { libvmaf: &[("debug", "true"), ("adm_skip_aim", "true")], suffix: "", kernels }
}

fn neg() -> Options {
    Options {
        libvmaf: &[("debug", "true"), ("adm_enhn_gain_limit", "1")],
        suffix: "_egl_1",
        kernels: AdmOptions { enhancement_gain_limit: 1, ..AdmOptions::default() },
    }
}

fn with_aim() -> Options {
    Options { libvmaf: &[("debug", "true")], suffix: "", kernels: AdmOptions::default() }
}

/// VMAF v1 for 1080p at three heights.
fn v1() -> Options {
    Options {
        libvmaf: &[
            ("debug", "true"),
            ("adm_dlm_weight", "0.7"),
            ("adm_enhn_gain_limit", "1"),
            ("adm_noise_weight", "0.02"),
            ("adm_min_val", "0.5"),
            ("adm_csf_mode", "2"),
        ],
        suffix: "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02",
        kernels: v1_options(3.0, 1080),
    }
}

fn v1_options(view_distance: f64, display_height: u32) -> AdmOptions {
    AdmOptions {
        enhancement_gain_limit: 1,
        dlm_weight: 0.7,
        noise_weight: 0.02,
        view_distance,
        display_height,
        contrast_sensitivity: ContrastSensitivity::BartenWatson,
        min_value: 0.5,
        skip_aim: false,
    }
}

fn v1_phone() -> Options {
    Options {
        libvmaf: &[
            ("debug", "true"),
            ("adm_dlm_weight", "0.7"),
            ("adm_enhn_gain_limit", "1"),
            ("adm_noise_weight", "0.02"),
            ("adm_norm_view_dist", "5"),
            ("adm_min_val", "0.5"),
            ("adm_csf_mode", "2"),
        ],
        suffix: "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02_nvd_5",
        kernels: v1_options(5.0, 1080),
    }
}

fn v1_2160(near: bool) -> Options {
    let libvmaf: &[_] = if near {
        &[
            ("debug", "true"),
            ("adm_dlm_weight", "0.7"),
            ("adm_enhn_gain_limit", "1"),
            ("adm_noise_weight", "0.02"),
            ("adm_norm_view_dist", "1.5"),
            ("adm_ref_display_height", "2160"),
            ("adm_min_val", "0.5"),
            ("adm_csf_mode", "2"),
        ]
    } else {
        &[
            ("debug", "true"),
            ("adm_dlm_weight", "0.7"),
            ("adm_enhn_gain_limit", "1"),
            ("adm_noise_weight", "0.02"),
            ("adm_ref_display_height", "2160"),
            ("adm_min_val", "0.5"),
            ("adm_csf_mode", "2"),
        ]
    };
    Options {
        libvmaf,
        suffix: if near {
            "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02_nvd_1.5_rdh_2160"
        } else {
            "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02_rdh_2160"
        },
        kernels: v1_options(if near { 1.5 } else { 3.0 }, 2160),
    }
}

/// Watson's weights, computed instead of hard-coded.
fn watson_far() -> Options {
    Options {
        libvmaf: &[("debug", "true"), ("adm_norm_view_dist", "4.5")],
        suffix: "_nvd_4.5",
        kernels: AdmOptions { view_distance: 4.5, ..AdmOptions::default() },
    }
}

/// All values of a pair of pictures by libvmaf's names.
fn values(scores: &AdmScores) -> Vec<(String, f64)> {
    let named = |name: &str, value: f64| (name.to_owned(), value);
    let mut values = vec![
        named("integer_adm_num", scores.numerator),
        named("integer_adm_den", scores.denominator),
        named("adm2", scores.adm2),
    ];
    values.extend(scores.adm3.map(|value| named("adm3", value)));
    values.extend(scores.aim.map(|value| named("aim", value)));
    for (index, scale) in scores.scales.iter().enumerate() {
        values.push((format!("integer_adm_num_scale{index}"), scale.numerator));
        values.push((format!("integer_adm_den_scale{index}"), scale.denominator));
        values.push((format!("integer_adm_scale{index}"), scale.score()));
    }
    values
}

fn stored_name(name: &str, suffix: &str) -> String {
    match (name.starts_with("integer"), suffix) {
        (true, suffix) => format!("{name}{suffix}"),
        (false, "") => format!("VMAF_integer_feature_{name}_score"),
        (false, suffix) => format!("integer_{name}{suffix}"),
    }
}

fn measure(set: InstructionSet, options: AdmOptions, reference: &Luma, distorted: &Luma) -> AdmScores {
    let Luma { width, height, depth, .. } = *reference;
    let config = AdmConfig { width, height, depth, options, instruction_set: set };
    let mut adm = Adm::new(&config).unwrap();
    let plane = |samples| Plane::new(samples, width, width, height).unwrap();
    if depth == 8 {
        let bytes = |luma: &Luma| luma.samples.iter().map(|&s| u8::try_from(s).unwrap()).collect::<Vec<_>>();
        let (reference, distorted) = (bytes(reference), bytes(distorted));
        let plane = |samples| Plane::new(samples, width, width, height).unwrap();
        return adm.measure(&plane(&reference), &plane(&distorted)).unwrap();
    }
    adm.measure(&plane(&reference.samples), &plane(&distorted.samples)).unwrap()
}

fn check(mask: CpuMask, options: &Options, reference: &Luma, distorted: &Luma, what: &str) {
    for set in InstructionSet::available() {
        let ours = values(&measure(set, options.kernels, reference, distorted));
        let names: Vec<_> = ours.iter().map(|(name, _)| stored_name(name, options.suffix)).collect();
        let theirs =
            libvmaf::features(mask, "adm", options.libvmaf, &[(reference, distorted)], &names).remove(0);
        let differences: Vec<_> = ours
            .iter()
            .zip(theirs)
            .filter(|((_, ours), theirs)| ours.to_bits() != theirs.to_bits())
            .map(|((name, ours), theirs)| format!("{name}: {ours} instead of {theirs}"))
            .collect();
        let size = (reference.width, reference.height, reference.depth);
        assert!(differences.is_empty(), "{set}, {mask:?}, {what}, {size:?}: {differences:#?}");
    }
}

const SIZES: [(usize, usize); 9] =
    [(33, 33), (34, 47), (48, 35), (64, 64), (97, 61), (131, 100), (176, 144), (255, 33), (320, 180)];

/// Contrast and noise of distortions.
const DISTORTIONS: [(f64, u64); 5] = [(1.0, 0), (0.8, 3), (1.3, 2), (1.02, 0), (-1.0, 10)];

#[rstest]
fn all_content_gives_the_bits_of_the_c_code(#[values(8, 10, 12, 16)] depth: u32) {
    for (index, (width, height)) in SIZES.into_iter().enumerate() {
        for content in Content::ALL {
            let seed = index as u64 + 1;
            let reference = content.draw(width, height, depth, seed);
            for (contrast, noise) in DISTORTIONS {
                let distorted = distort(&reference, contrast, noise, seed);
                let what = format!("{content:?} x {contrast} + {noise}");
                check(CpuMask::All, &with_aim(), &reference, &distorted, &what);
            }
        }
    }
}

/// libvmaf's C code lets the share of a coefficient in its own masking wrap around at 16 bits, its vector code does not. Only
/// the strongest contrasts reach that.
fn wraps_around(content: Content, contrast: f64) -> bool {
    content == Content::Random && contrast > 1.2
}

#[rstest]
fn all_content_gives_the_bits_of_vector_code(
    #[values(8, 10, 12, 16)] depth: u32,
    #[values(CpuMask::None, CpuMask::Avx512)] mask: CpuMask,
) {
    for (index, (width, height)) in
        [(48, 35), (64, 64), (176, 144), (320, 60), (427, 49)].into_iter().enumerate()
    {
        assert!(Adm::is_consistent_in_libvmaf(width));
        for content in Content::ALL {
            let seed = index as u64 + 1;
            let reference = content.draw(width, height, depth, seed);
            for (contrast, noise) in DISTORTIONS {
                if !wraps_around(content, contrast) {
                    let distorted = distort(&reference, contrast, noise, seed);
                    let what = format!("{content:?} x {contrast} + {noise}");
                    check(mask, &with_aim(), &reference, &distorted, &what);
                }
            }
        }
    }
}

/// Fails if libvmaf's vector code was repaired, or reads past rows for more widths.
#[test]
fn the_widths_that_libvmaf_is_inconsistent_for_are_known() {
    let names: Vec<_> = ["num", "den"]
        .into_iter()
        .flat_map(|part| (0..4).map(move |scale| format!("integer_adm_{part}_scale{scale}")))
        .collect();
    for width in (33..450).chain([1079, 1080, 1280, 1920]) {
        let reference = Content::Noise.draw(width, 40, 8, width as u64);
        let distorted = distort(&reference, 0.9, 3, width as u64);
        let values = |mask| {
            let frames = [(&reference, &distorted)];
            libvmaf::features(mask, "adm", &[("debug", "true")], &frames, &names).remove(0)
        };
        let c = values(CpuMask::All);
        let equal = [CpuMask::None, CpuMask::Avx512].into_iter().all(|mask| values(mask) == c);
        assert!(equal || !Adm::is_consistent_in_libvmaf(width), "{width}");
    }
}

#[rstest]
#[case::classic(classic())]
#[case::neg(neg())]
#[case::v1(v1())]
#[case::v1_phone(v1_phone())]
#[case::v1_2160_near(v1_2160(true))]
#[case::v1_2160_far(v1_2160(false))]
#[case::watson_far(watson_far())]
fn all_options_give_the_same_bits(#[case] options: Options) {
    for depth in [8, 10] {
        for content in [Content::Random, Content::Noise, Content::Extremes, Content::Flat, Content::Blocks] {
            let reference = content.draw(176, 144, depth, 5);
            for (contrast, noise) in [(0.8, 3), (1.3, 2), (1.02, 0)] {
                let distorted = distort(&reference, contrast, noise, 6);
                let mask = if wraps_around(content, contrast) { CpuMask::All } else { CpuMask::None };
                check(mask, &options, &reference, &distorted, &format!("{content:?} x {contrast}"));
            }
        }
    }
}

#[test]
fn unrelated_pictures_give_the_same_bits() {
    for (index, reference) in Content::ALL.into_iter().enumerate() {
        for distorted in Content::ALL {
            let what = format!("{reference:?} and {distorted:?}");
            let draw = |content: Content| content.draw(129, 95, 8, index as u64 + 11);
            check(CpuMask::All, &with_aim(), &draw(reference), &draw(distorted), &what);
        }
    }
}
