//! CPU milliseconds per pair of VIF: libvmaf's and ours, alone and with five distorted pictures of one reference, taking turns
//! in one run.
#![allow(clippy::unwrap_used, clippy::print_stdout, dead_code, reason = "a program for developers")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Duration;

use support::libvmaf::{Context, CpuMask, LibvmafPicture};
use support::picture::{Content, Level, StoredPlane, distort};
use vmafx_kernels::{InstructionSet, Sequential, Vif, VifConfig};

const WIDTH: usize = 1920;
const HEIGHT: usize = 1080;
const ROUNDS: usize = 15;

/// What libvmaf must not use, so that it uses as much as our instruction set.
const CPU_MASKS: [(InstructionSet, CpuMask); 2] =
    [(InstructionSet::Avx2, CpuMask::Avx512), (InstructionSet::Avx512, CpuMask::None)];

fn main() {
    println!(
        "{:8} {:5} {:8} {:>10} {:>10} {:>7} {:>10} {:>7}",
        "content", "depth", "set", "libvmaf", "ours", "ratio", "of five", "ratio"
    );
    for content in [Content::Natural, Content::Random] {
        compare::<u8>(content, 8);
        compare::<u16>(content, 10);
    }
}

fn compare<T: Level>(content: Content, depth: u32) {
    let reference = content.draw(WIDTH, HEIGHT, depth, 1);
    let pair = [&reference, &distort(&reference, 0.9, 2, 1)];
    let stored = pair.map(|picture| picture.planes[0].store::<T>(0));
    let planes = stored.each_ref().map(StoredPlane::plane);
    for (set, cpu_mask) in CPU_MASKS.into_iter().filter(|(set, _)| set.is_available()) {
        let config = VifConfig {
            width: WIDTH,
            height: HEIGHT,
            depth,
            enhancement_gain_limit: 100.0,
            instruction_set: set,
        };
        let mut vif = Vif::new(&config).unwrap();
        let (mut theirs, mut ours, mut of_five) = (Duration::MAX, Duration::MAX, Duration::MAX);
        let renditions = [(); 5].map(|()| pair[1].planes[0].store::<T>(0));
        let renditions = renditions.each_ref().map(StoredPlane::plane);
        for _ in 0..ROUNDS {
            let extractor = Context::new(cpu_mask, "vif", &[]);
            // The first pair of a context pays for its buffers.
            for index in 0..2 {
                let pictures = pair.map(LibvmafPicture::new);
                theirs = theirs.min(cpu_time(|| extractor.read(pictures, index)));
                ours = ours.min(cpu_time(|| {
                    vif.measure(&planes[0], &planes[1]).unwrap();
                }));
            }
            of_five = of_five.min(cpu_time(|| {
                vif.measure_all(&planes[0], &renditions, &mut Sequential).unwrap();
            }));
        }
        let [theirs, ours, of_five] = [theirs, ours, of_five / 5].map(|time| time.as_secs_f64() * 1000.0);
        let content = format!("{content:?}");
        println!(
            "{content:8} {depth:<5} {set:8} {theirs:10.2} {ours:10.2} {:7.3} {of_five:10.2} {:7.3}",
            ours / theirs,
            of_five / theirs
        );
    }
}

fn cpu_time(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    let start = now();
    work();
    now().saturating_sub(start)
}
