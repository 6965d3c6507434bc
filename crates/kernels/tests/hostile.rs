//! What no clip has: sizes, depths, planes and samples that kernels must refuse or survive.

#![allow(clippy::unwrap_used)]

mod support;

use std::fmt::Display;

use rstest::rstest;
use support::picture::{Content, Level, Random};
use vmafx_kernels::{
    Adm, AdmConfig, AdmOptions, Cambi, CambiConfig, CambiOptions, InstructionSet, MaskingOverflow, Motion,
    MotionConfig, MotionOptions, Plane, Speed, SpeedConfig, SpeedOptions, SummationOrder, Vif, VifConfig,
};

type Size = (usize, usize, u32);

/// Measures a plane by one feature. An error is what the feature refuses.
type Measure<T> = fn(InstructionSet, Size, &Plane<'_, T>) -> Result<(), String>;

/// Creates a kernel and uses it twice, because the second use finds the traces of the first.
fn twice<K, E: Display>(
    kernel: Result<K, E>,
    mut measure: impl FnMut(&mut K) -> Result<(), E>,
) -> Result<(), String> {
    let twice = kernel.and_then(|mut kernel| [(); 2].into_iter().try_for_each(|()| measure(&mut kernel)));
    twice.map_err(|error| error.to_string())
}

fn adm<T: Level>(set: InstructionSet, size: Size, plane: &Plane<'_, T>) -> Result<(), String> {
    let ((width, height, depth), options) = (size, AdmOptions::default());
    let overflow = MaskingOverflow::of_libvmaf();
    let config = AdmConfig { width, height, depth, options, overflow, instruction_set: set };
    twice(Adm::new(&config), |adm| adm.measure(plane, plane).map(|_| ()))
}

fn cambi<T: Level>(set: InstructionSet, size: Size, plane: &Plane<'_, T>) -> Result<(), String> {
    let ((width, height, depth), options) = (size, CambiOptions::default());
    let config = CambiConfig { width, height, depth, options, instruction_set: set };
    twice(Cambi::new(&config), |cambi| cambi.measure(plane).map(|_| ()))
}

fn motion<T: Level>(set: InstructionSet, size: Size, plane: &Plane<'_, T>) -> Result<(), String> {
    let ((width, height, depth), options) = (size, MotionOptions::default());
    let config = MotionConfig { width, height, depth, options, instruction_set: set };
    twice(Motion::new(&config), |motion| motion.push(plane).map(|_| ()))
}

fn speed<T: Level>(set: InstructionSet, size: Size, plane: &Plane<'_, T>) -> Result<(), String> {
    let ((width, height, depth), options) = (size, SpeedOptions::default());
    let order = SummationOrder::of_libvmaf();
    let config = SpeedConfig { width, height, depth, options, order, instruction_set: set };
    twice(Speed::new(&config), |speed| speed.measure([plane; 2], [plane; 2]).map(|_| ()))
}

fn vif<T: Level>(set: InstructionSet, size: Size, plane: &Plane<'_, T>) -> Result<(), String> {
    let (width, height, depth) = size;
    let config = VifConfig { width, height, depth, enhancement_gain_limit: 100.0, instruction_set: set };
    twice(Vif::new(&config), |vif| vif.measure(plane, plane).map(|_| ()))
}

fn features<T: Level>() -> [(&'static str, Measure<T>); 5] {
    [
        ("adm", adm::<T>),
        ("cambi", cambi::<T>),
        ("motion", motion::<T>),
        ("speed", speed::<T>),
        ("vif", vif::<T>),
    ]
}

/// Every size up to that of a block and around the minimum of each feature: either it is refused, or it is measured.
#[test]
fn every_small_size_is_measured_or_refused() {
    let sides = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 34, 79, 80, 81, 215, 216, 217];
    let samples = Content::Random.draw(217, 217, 8, 1).planes.remove(0).store::<u8>(0);
    for set in InstructionSet::available() {
        for (width, height) in sides.into_iter().flat_map(|width| sides.map(|height| (width, height))) {
            let rows: Vec<u8> =
                (0..height.min(217)).flat_map(|y| samples.plane().row(y)[..width].to_vec()).collect();
            let Ok(plane) = Plane::new(&rows, width, width, height) else {
                assert!(width == 0 || height == 0);
                continue;
            };
            for (name, measure) in features::<u8>() {
                let measured = measure(set, (width, height, 8), &plane);
                assert!(
                    measured.is_ok() || width.min(height) < 80 || width.max(height) < 216,
                    "{name} {width}x{height}: {measured:?}"
                );
            }
        }
    }
}

#[test]
fn a_depth_that_no_clip_has_is_refused() {
    let picture = Content::Random.draw(240, 240, 16, 1);
    let words = picture.planes[0].store::<u16>(3);
    for set in InstructionSet::available() {
        for depth in (0..8).chain(17..40).chain([64, 256, u32::MAX]) {
            for (name, measure) in features::<u16>() {
                assert!(measure(set, (240, 240, depth), &words.plane()).is_err(), "{name} {depth}");
            }
        }
    }
}

#[test]
fn a_plane_of_another_size_or_type_is_refused() {
    let picture = Content::Random.draw(240, 240, 8, 1);
    let (bytes, words) = (picture.planes[0].store::<u8>(0), picture.planes[0].store::<u16>(0));
    for set in InstructionSet::available() {
        for (name, measure) in features::<u8>() {
            for size in [(241, 240, 8), (240, 241, 8), (216, 300, 8), (240, 240, 10), (240, 240, 16)] {
                assert!(measure(set, size, &bytes.plane()).is_err(), "{name} {size:?}");
            }
        }
        for (name, measure) in features::<u16>() {
            assert!(measure(set, (240, 240, 8), &words.plane()).is_err(), "{name}");
        }
    }
}

/// A raw clip may have any bits in its words. Only CAMBI, whose histograms are as large as the depth, refuses them.
#[rstest]
fn samples_beyond_the_depth_do_no_harm(#[values(10, 12)] depth: u32) {
    let mut random = Random::new(depth.into());
    for kind in 0..3 {
        let sample = |_| match kind {
            0 => u16::try_from(random.below(1 << 16)).unwrap(),
            1 => u16::MAX,
            _ => [0, u16::MAX][random.below(2) as usize],
        };
        let samples: Vec<u16> = (0..240 * 230).map(sample).collect();
        let plane = Plane::new(&samples, 240, 240, 230).unwrap();
        for set in InstructionSet::available() {
            for (name, measure) in features::<u16>() {
                let measured = measure(set, (240, 230, depth), &plane);
                assert_eq!(measured.is_err(), name == "cambi", "{name} {kind}: {measured:?}");
            }
        }
    }
}

#[rstest]
#[case(usize::MAX, 1, 1)]
#[case(2, usize::MAX, 1)]
#[case(usize::MAX, usize::MAX, usize::MAX)]
#[case(16, usize::MAX / 16 + 2, 16)]
#[case(15, 1, 16)]
fn a_plane_that_its_samples_do_not_hold_is_refused(
    #[case] stride: usize,
    #[case] height: usize,
    #[case] width: usize,
) {
    assert!(Plane::new(&[0_u8; 16], stride, width, height).is_err() || (height == 1 && width <= 16));
}
