//! ADM against libvmaf, to the last bit.

#![allow(clippy::unwrap_used)]

mod support;

use rstest::rstest;
use support::libvmaf::{self, CpuMask};
use support::picture::{Chroma, Content, Level, Picture, Random, TestPlane, distort};
use vmafx_kernels::{
    Adm, AdmConfig, AdmOptions, AdmScores, ContrastSensitivity, InstructionSet, MaskingOverflow,
};

fn classic() -> AdmOptions {
    AdmOptions { skip_aim: true, ..AdmOptions::default() }
}

fn neg() -> AdmOptions {
    AdmOptions { enhancement_gain_limit: 1, ..AdmOptions::default() }
}

/// VMAF v1 for a display of this height at a distance of so many heights.
fn v1(view_distance: f64, display_height: u32) -> AdmOptions {
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

/// Watson's weights, computed instead of hard-coded.
fn watson_far() -> AdmOptions {
    AdmOptions { view_distance: 4.5, ..AdmOptions::default() }
}

/// Options as libvmaf reads them, and the suffix that they give to names.
fn for_libvmaf(options: &AdmOptions) -> (Vec<(&'static str, String)>, String) {
    let numbers = |options: &AdmOptions| {
        let mode = match options.contrast_sensitivity {
            ContrastSensitivity::Watson => 0.0,
            ContrastSensitivity::BartenWatson => 2.0,
        };
        // In alphabetical order of the first column, which is that of the suffix.
        [
            ("adm_csf_mode", "csf", mode),
            ("adm_dlm_weight", "dlmw", options.dlm_weight),
            ("adm_enhn_gain_limit", "egl", options.enhancement_gain_limit.into()),
            ("adm_min_val", "min", options.min_value),
            ("adm_noise_weight", "nw", options.noise_weight),
            ("adm_norm_view_dist", "nvd", options.view_distance),
            ("adm_ref_display_height", "rdh", options.display_height.into()),
        ]
    };
    let mut all = vec![("debug", "true".to_owned()), ("adm_skip_aim", options.skip_aim.to_string())];
    let mut suffix = String::new();
    for ((name, alias, value), (_, _, default)) in
        numbers(options).into_iter().zip(numbers(&AdmOptions::default()))
    {
        if value.to_bits() != default.to_bits() {
            all.push((name, value.to_string()));
            suffix.extend(["_", alias, "_", &value.to_string()]);
        }
    }
    (all, suffix)
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

/// What libvmaf does when it is limited by the mask.
fn overflow(mask: CpuMask) -> MaskingOverflow {
    match mask {
        CpuMask::All => MaskingOverflow::Everywhere,
        CpuMask::Avx512 => MaskingOverflow::of(InstructionSet::of_libvmaf().min(InstructionSet::Avx2)),
        CpuMask::None => MaskingOverflow::of_libvmaf(),
    }
}

fn measure<T: Level>(
    set: InstructionSet,
    overflow: MaskingOverflow,
    options: AdmOptions,
    reference: &Picture,
    distorted: &Picture,
) -> AdmScores {
    let (width, height, depth) = reference.geometry();
    let config = AdmConfig { width, height, depth, options, overflow, instruction_set: set };
    let [reference, distorted] = [reference, distorted].map(|picture| picture.planes[0].store::<T>(0));
    Adm::new(&config).unwrap().measure(&reference.plane(), &distorted.plane()).unwrap()
}

/// The bits of libvmaf limited by a mask, against the kernels of all instruction sets.
fn check(mask: CpuMask, options: &AdmOptions, reference: &Picture, distorted: &Picture, what: &str) {
    let measure = if reference.depth == 8 { measure::<u8> } else { measure::<u16> };
    let measure = |set| values(&measure(set, overflow(mask), *options, reference, distorted));
    let specified = measure(InstructionSet::Scalar);
    let (libvmaf_options, suffix) = for_libvmaf(options);
    let names: Vec<_> = specified.iter().map(|(name, _)| stored_name(name, &suffix)).collect();
    let as_text: Vec<_> = libvmaf_options.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let theirs = libvmaf::features(mask, "adm", &as_text, &[(reference, distorted)], &names).remove(0);
    for set in InstructionSet::available() {
        let ours = measure(set);
        let differences: Vec<_> = ours
            .iter()
            .zip(&theirs)
            .filter(|((_, ours), theirs)| ours.to_bits() != theirs.to_bits())
            .map(|((name, ours), theirs)| format!("{name}: {ours} instead of {theirs}"))
            .collect();
        let size = reference.geometry();
        assert!(differences.is_empty(), "{set}, {mask:?}, {what}, {size:?}, {options:?}: {differences:#?}");
    }
}

const SIZES: [(usize, usize); 9] =
    [(33, 33), (34, 47), (48, 35), (64, 64), (97, 61), (131, 100), (176, 144), (255, 33), (320, 180)];

/// Contrast and noise of distortions.
const DISTORTIONS: [(f64, u32); 5] = [(1.0, 0), (0.8, 3), (1.3, 2), (1.02, 0), (-1.0, 10)];

#[rstest]
fn all_content_gives_the_bits_of_the_c_code(#[values(8, 10, 12, 16)] depth: u32) {
    for (index, (width, height)) in SIZES.into_iter().enumerate() {
        for content in Content::ALL {
            let seed = index as u64 + 1;
            let reference = content.draw(width, height, depth, seed);
            for (contrast, noise) in DISTORTIONS {
                let distorted = distort(&reference, contrast, noise, seed);
                let what = format!("{content:?} x {contrast} + {noise}");
                check(CpuMask::All, &AdmOptions::default(), &reference, &distorted, &what);
            }
        }
    }
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
                let distorted = distort(&reference, contrast, noise, seed);
                let what = format!("{content:?} x {contrast} + {noise}");
                check(mask, &AdmOptions::default(), &reference, &distorted, &what);
            }
        }
    }
}

/// With all numbers of columns that libvmaf's vector code leaves to its C code.
fn full_contrast_sizes() -> impl Iterator<Item = (usize, usize)> {
    let widths = (33..200).step_by(7).chain(430..472);
    widths.filter(|&width| Adm::is_consistent_in_libvmaf(width)).map(|width| (width, 33 + width % 11))
}

#[rstest]
fn shares_of_more_than_16_bits_are_those_of_each_instruction_set(
    #[values(8, 10, 12, 16)] depth: u32,
    #[values(CpuMask::All, CpuMask::Avx512, CpuMask::None)] mask: CpuMask,
) {
    // Nothing of this depends on the depth.
    let step = if depth == 8 { 1 } else { 5 };
    for (width, height) in full_contrast_sizes().step_by(step) {
        for content in Content::full_contrast() {
            let reference = content.draw(width, height, depth, 1);
            for (distorted, what) in [
                (distort(&reference, -1.0, 0, 2), "negative"),
                (distort(&reference, 0.8, 3, 2), "weaker"),
                (Content::Extremes.draw(width, height, depth, 5), "noise"),
                (content.draw(width, height, depth, 2), "shifted"),
            ] {
                check(mask, &AdmOptions::default(), &reference, &distorted, &format!("{content:?}, {what}"));
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
#[case::v1(v1(3.0, 1080))]
#[case::v1_phone(v1(5.0, 1080))]
#[case::v1_2160_near(v1(1.5, 2160))]
#[case::v1_2160_far(v1(3.0, 2160))]
#[case::watson_far(watson_far())]
fn all_options_give_the_same_bits(#[case] options: AdmOptions) {
    for depth in [8, 10] {
        for content in [Content::Random, Content::Noise, Content::Extremes, Content::Flat, Content::Blocks] {
            let reference = content.draw(176, 144, depth, 5);
            for (contrast, noise) in [(0.8, 3), (1.3, 2), (1.02, 0)] {
                let distorted = distort(&reference, contrast, noise, 6);
                for mask in [CpuMask::All, CpuMask::Avx512, CpuMask::None] {
                    check(mask, &options, &reference, &distorted, &format!("{content:?} x {contrast}"));
                }
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
            check(CpuMask::All, &AdmOptions::default(), &draw(reference), &draw(distorted), &what);
        }
    }
}

/// Random choices.
struct Choices(Random);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0.next()
    }

    fn choice<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.next()).unwrap() % choices.len()]
    }

    fn options(&mut self) -> AdmOptions {
        let contrast_sensitivity =
            self.choice(&[ContrastSensitivity::Watson, ContrastSensitivity::BartenWatson]);
        let (view_distance, display_height) = match contrast_sensitivity {
            ContrastSensitivity::Watson => {
                self.choice(&[(3.0, 1080), (3.5, 1080), (5.0, 1080), (1.5, 2160), (12.0, 720)])
            }
            ContrastSensitivity::BartenWatson => {
                self.choice(&[(3.0, 1080), (5.0, 1080), (1.5, 2160), (3.0, 2160)])
            }
        };
        AdmOptions {
            enhancement_gain_limit: self.choice(&[1, 1, 2, 3, 10, 99, 100, 100]),
            dlm_weight: self.choice(&[0.5, 0.7, 0.0, 1.0]),
            // Without noise, a flat reference has no denominator, and libvmaf leaves AIM uninitialised.
            noise_weight: self.choice(&[0.03125, 0.02, 0.001, 1.0]),
            view_distance,
            display_height,
            contrast_sensitivity,
            min_value: self.choice(&[0.0, 0.5]),
            skip_aim: self.choice(&[false, false, true]),
        }
    }

    /// A reference and a distorted picture, in blocks of different content.
    fn pair(&mut self, width: usize, height: usize, depth: u32) -> [Picture; 2] {
        let mut contents: Vec<_> = Content::ALL.into_iter().chain(Content::full_contrast()).collect();
        contents.extend(Content::wavelets());
        let mut layer = || {
            let reference = {
                let content = self.choice(&contents);
                content.draw(width, height, depth, self.next())
            };
            let distorted = if self.next().is_multiple_of(4) {
                let content = self.choice(&contents);
                content.draw(width, height, depth, self.next())
            } else {
                let contrast = self.choice(&[-1.0, -0.3, 0.0, 0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0]);
                let noise = self.choice(&[0, 1, 3, 30]);
                distort(&reference, contrast, noise, self.next())
            };
            [reference, distorted]
        };
        let layers = [(); 3].map(|()| layer());
        let block = self.choice(&[8, 16, 50, 10_000]);
        let across = width / block + 1;
        let of_blocks: Vec<_> = (0..across * (height / block + 1)).map(|_| self.choice(&[0, 1, 2])).collect();
        [0, 1].map(|image| {
            let samples = (0..width * height).map(|index| {
                let (x, y) = (index % width, index / width);
                layers[of_blocks[y / block * across + x / block]][image].planes[0].samples[index]
            });
            let plane = TestPlane { width, height, samples: samples.collect() };
            Picture { chroma: Chroma::None, depth, planes: vec![plane] }
        })
    }
}

#[rstest]
fn random_pictures_and_options_give_the_same_bits(
    #[values(CpuMask::All, CpuMask::Avx512, CpuMask::None)] mask: CpuMask,
    #[values(1, 2)] seed: u64,
) {
    const PICTURES: usize = 150;
    let mut random = Choices(Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    for index in 0..PICTURES {
        let any = usize::try_from(random.next() % 600).unwrap();
        let widths = (33 + any..).filter(|&width| Adm::is_consistent_in_libvmaf(width));
        let width = widths.into_iter().next().unwrap();
        let height = 33 + usize::try_from(random.next() % 90).unwrap();
        let depth = random.choice(&[8, 8, 10, 12, 16]);
        let [reference, distorted] = random.pair(width, height, depth);
        check(mask, &random.options(), &reference, &distorted, &format!("picture {index}"));
    }
}
