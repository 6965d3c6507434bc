//! CPU milliseconds of CAMBI and `SpEED` for a pair of pictures of 1920x1080: libvmaf's, ours, and their ratio.
//!
//! What libvmaf needs without an extractor, to take pictures and free them, is not counted. Each figure is the least of several.
//!
//! `cargo run --release -p vmafx-kernels --example v1_cost`

#![allow(clippy::unwrap_used, unsafe_code)] // The tests' module for libvmaf's C API is used here too.

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use support::libvmaf::{Context, CpuMask, LibvmafPicture};
use support::picture::{Chroma, Content, Picture, StoredPlane};
use vmafx_kernels::{
    Cambi, CambiConfig, CambiOptions, InstructionSet, Prescale, PrescaleMethod, Speed, SpeedConfig,
    SpeedOptions, SummationOrder,
};

const WIDTH: usize = 1920;
const HEIGHT: usize = 1080;
const ROUNDS: usize = 8;
const PICTURES: usize = 3;

const CAMBI_OPTIONS: [(&str, &str); 3] =
    [("cambi_high_res_speedup", "1080"), ("cambi_vis_lum_threshold", "0.06"), ("cambi_max_val", "17")];
const SPEED_OPTIONS: [(&str, &str); 4] = [
    ("speed_nn_floor", "0.1"),
    ("speed_sigma_nn", "0.19"),
    ("speed_weight_var_mode", "5"),
    ("speed_max_val", "45"),
];

fn main() {
    println!(
        "{:<10} {:<8} {:>14} {:>14} {:>8} {:>14}  set",
        "content", "feature", "libvmaf best", "libvmaf avx2", "ours", "ratios"
    );
    for content in [Content::Natural, Content::Random, Content::Noise, Content::Bands, Content::Stripes] {
        let reference = content.picture(WIDTH, HEIGHT, 8, Chroma::Both, 1);
        let distorted = content.picture(WIDTH, HEIGHT, 8, Chroma::Both, 2);
        let cambi = ("cambi", Theirs { name: "cambi", options: &CAMBI_OPTIONS });
        let speed = ("speed", Theirs { name: "speed_chroma", options: &SPEED_OPTIONS });
        for (name, options) in [cambi, speed] {
            for set in InstructionSet::available() {
                report(content, name, &options, &reference, &distorted, set);
            }
        }
    }
}

struct Theirs {
    name: &'static str,
    options: &'static [(&'static str, &'static str)],
}

fn report(
    content: Content,
    name: &str,
    extractor: &Theirs,
    reference: &Picture,
    distorted: &Picture,
    set: InstructionSet,
) {
    let mut ours: Box<dyn FnMut()> =
        if name == "cambi" { cambi(distorted, set) } else { speed(reference, distorted, set) };
    let mut times = [f64::MAX; 4];
    // All take turns, so that what else the machine does meets all alike.
    for _ in 0..ROUNDS {
        let runs =
            [(Some(extractor), CpuMask::None), (Some(extractor), CpuMask::Avx512), (None, CpuMask::None)];
        for (least, (extractor, mask)) in times.iter_mut().zip(runs) {
            let run = match extractor {
                Some(extractor) => Context::new(mask, extractor.name, extractor.options),
                None => Context::without_extractor(mask),
            };
            for index in 0..PICTURES {
                let pictures = [reference, distorted].map(LibvmafPicture::new);
                let time = cpu_milliseconds(|| run.read(pictures, index));
                // The first picture initializes the extractor.
                if index > 0 {
                    *least = least.min(time);
                }
            }
            run.flush();
        }
        for _ in 1..PICTURES {
            times[3] = times[3].min(cpu_milliseconds(&mut ours));
        }
    }
    let [best, avx2, nothing, ours] = times;
    let (best, avx2) = (best - nothing, avx2 - nothing);
    let content = format!("{content:?}");
    let ratios = [ours / best, ours / avx2].map(|ratio| format!("{ratio:.3}")).join(" ");
    println!("{content:<10} {name:<8} {best:>14.2} {avx2:>14.2} {ours:>8.2} {ratios:>14}  {set}");
}

fn cpu_milliseconds(run: impl FnOnce()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
    };
    let started = now();
    run();
    now().saturating_sub(started).as_secs_f64() * 1000.0
}

fn cambi(picture: &Picture, instruction_set: InstructionSet) -> Box<dyn FnMut()> {
    let options = CambiOptions::of_v1_models();
    let config = CambiConfig { width: WIDTH, height: HEIGHT, depth: 8, options, instruction_set };
    let mut cambi = Cambi::new(&config).unwrap();
    let luma = picture.planes[0].store::<u8>(0);
    Box::new(move || {
        std::hint::black_box(cambi.measure(&luma.plane()).unwrap());
    })
}

fn speed(reference: &Picture, distorted: &Picture, instruction_set: InstructionSet) -> Box<dyn FnMut()> {
    let (width, height) = (WIDTH / 2, HEIGHT / 2);
    let prescale = Prescale { factor: 1.0, method: PrescaleMethod::Nearest };
    let config = SpeedConfig {
        width,
        height,
        depth: 8,
        options: SpeedOptions::of_v1_models(prescale),
        order: SummationOrder::Avx2,
        instruction_set,
    };
    let mut speed = Speed::new(&config).unwrap();
    let stored =
        [reference, distorted].map(|picture| [1, 2].map(|plane| picture.planes[plane].store::<u8>(0)));
    Box::new(move || {
        let planes = stored.each_ref().map(|planes| planes.each_ref().map(StoredPlane::plane));
        std::hint::black_box(speed.measure(planes[0].each_ref(), planes[1].each_ref()).unwrap());
    })
}
