//! CPU time of `adm` and `motion` per frame of 1080p, of libvmaf and of the kernels.
//!
//! libvmaf's time is that of reading a pair of pictures, which are allocated and filled before.

#![allow(unsafe_code, clippy::unwrap_used, clippy::type_complexity)]
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use support::libvmaf::{Context, CpuMask, LibvmafPicture};
use support::picture::{Content, Level, Picture, StoredPlane, distort};
use vmafx_kernels::{
    Adm, AdmConfig, AdmOptions, ContrastSensitivity, InstructionSet, MaskingOverflow, Motion, MotionConfig,
    MotionOptions,
};

const WIDTH: usize = 1920;
const HEIGHT: usize = 1080;
const FRAMES: usize = 8;
const ROUNDS: usize = 7;

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
}

/// CPU time of this thread in milliseconds.
fn cpu_ms() -> f64 {
    const THREAD: i32 = 3;
    let mut time = [0; 2];
    // SAFETY: a `timespec` is two 64-bit numbers on the 64-bit systems that this runs on.
    assert_eq!(unsafe { clock_gettime(THREAD, &raw mut time) }, 0);
    time[0] as f64 * 1e3 + time[1] as f64 / 1e6
}

/// The least time per frame over some rounds.
fn measured(mut round: impl FnMut()) -> f64 {
    let times = (0..ROUNDS).map(|_| {
        let start = cpu_ms();
        round();
        (cpu_ms() - start) / FRAMES as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

fn theirs(mask: CpuMask, extractor: &str, options: &[(&str, &str)], clip: &[Picture; 3]) -> f64 {
    let [reference, distorted, next] = clip;
    let context = Context::new(mask, extractor, options);
    let mut index = 0;
    let rounds = (0..ROUNDS).map(|_| {
        let mut time = 0.0;
        for _ in 0..FRAMES {
            let first = if index % 2 == 0 { reference } else { next };
            let pictures = [first, distorted].map(LibvmafPicture::new);
            let start = cpu_ms();
            context.read(pictures, index);
            time += cpu_ms() - start;
            index += 1;
        }
        time / FRAMES as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn our_adm<T: Level>(set: InstructionSet, options: AdmOptions, depth: u32, clip: &[Picture; 3]) -> f64 {
    let overflow = MaskingOverflow::of_libvmaf();
    let config = AdmConfig { width: WIDTH, height: HEIGHT, depth, options, overflow, instruction_set: set };
    let mut adm = Adm::new(&config).unwrap();
    let stored = clip.each_ref().map(|picture| picture.planes[0].store::<T>(0));
    let [reference, distorted, _] = stored.each_ref().map(StoredPlane::plane);
    measured(|| {
        for _ in 0..FRAMES {
            black_box(adm.measure(&reference, &distorted).unwrap());
        }
    })
}

fn our_motion<T: Level>(set: InstructionSet, depth: u32, clip: &[Picture; 3]) -> f64 {
    let config = MotionConfig {
        width: WIDTH,
        height: HEIGHT,
        depth,
        options: MotionOptions::default(),
        instruction_set: set,
    };
    let mut motion = Motion::new(&config).unwrap();
    let stored = clip.each_ref().map(|picture| picture.planes[0].store::<T>(0));
    let [reference, _, next] = stored.each_ref().map(StoredPlane::plane);
    measured(|| {
        for index in 0..FRAMES {
            black_box(motion.push(if index % 2 == 0 { &reference } else { &next }).unwrap());
        }
    })
}

fn main() {
    println!(
        "CPU ms per frame of {WIDTH}x{HEIGHT}, the least of {ROUNDS} rounds; ratio of the time to libvmaf's"
    );
    println!(
        "{:32} {:>14} {:>14} {:>14} {:>14} {:>10} {:>10}",
        "", "libvmaf best", "libvmaf avx2", "kernels best", "kernels avx2", "to best", "to avx2"
    );
    let only: Vec<String> = std::env::args().skip(1).collect();
    for depth in [8, 10] {
        for content in [Content::Noise, Content::Natural] {
            let reference = content.draw(WIDTH, HEIGHT, depth, 1);
            let distorted = distort(&reference, 0.98, 2, 2);
            let next = distort(&reference, 1.0, 3, 4);
            report(depth, content, &[reference, distorted, next], &only);
        }
    }
}

fn report(depth: u32, content: Content, clip: &[Picture; 3], only: &[String]) {
    let aim = AdmOptions {
        enhancement_gain_limit: 1,
        dlm_weight: 0.7,
        noise_weight: 0.02,
        contrast_sensitivity: ContrastSensitivity::BartenWatson,
        min_value: 0.5,
        ..AdmOptions::default()
    };
    let skip = AdmOptions { skip_aim: true, ..AdmOptions::default() };
    let cases: [(&str, &str, &[(&str, &str)], Option<AdmOptions>); 3] = [
        ("adm of v0.6.1 (no AIM)", "adm", &[("adm_skip_aim", "true")], Some(skip)),
        (
            "adm of v1 (with AIM)",
            "adm",
            &[
                ("adm_csf_mode", "2"),
                ("adm_enhn_gain_limit", "1"),
                ("adm_noise_weight", "0.02"),
                ("adm_dlm_weight", "0.7"),
                ("adm_min_val", "0.5"),
            ],
            Some(aim),
        ),
        ("motion", "motion", &[], None),
    ];
    for (name, extractor, options, adm) in cases {
        if !only.is_empty() && !only.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let mut best = f64::INFINITY;
        let mut avx2 = f64::INFINITY;
        let sets = [InstructionSet::best(), InstructionSet::Avx2];
        let mut ours = [f64::INFINITY; 2];
        // Alternating, so that a disturbance of the machine does not hit one side only.
        for _ in 0..3 {
            best = best.min(theirs(CpuMask::None, extractor, options, clip));
            avx2 = avx2.min(theirs(CpuMask::Avx512, extractor, options, clip));
            for (ours, set) in ours.iter_mut().zip(sets) {
                *ours = ours.min(match (adm, depth) {
                    (Some(options), 8) => our_adm::<u8>(set, options, depth, clip),
                    (Some(options), _) => our_adm::<u16>(set, options, depth, clip),
                    (None, 8) => our_motion::<u8>(set, depth, clip),
                    (None, _) => our_motion::<u16>(set, depth, clip),
                });
            }
        }
        let name = format!("{name}, {depth} bit, {content:?}");
        let [ours_best, ours_avx2] = ours;
        println!(
            "{name:40} {best:>10.2} {avx2:>14.2} {ours_best:>14.2} {ours_avx2:>14.2} {:>10.2} {:>10.2}",
            ours_best / best,
            ours_avx2 / avx2
        );
    }
}
