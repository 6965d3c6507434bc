//! CPU milliseconds per pair of VIF: libvmaf's and ours, alone and with five distorted pictures of one reference, taking turns
//! in one run.
#![allow(clippy::unwrap_used, clippy::print_stdout, dead_code, reason = "a program for developers")]

#[path = "../tests/vif/content.rs"]
mod content;
#[path = "../tests/vif/libvmaf.rs"]
mod libvmaf;

use std::time::Duration;

use vmafx_kernels::{InstructionSet, Sequential, Vif, VifConfig};

use content::{Clip, Content, Level};
use libvmaf::{Bytes, Extractor};

const WIDTH: usize = 1920;
const HEIGHT: usize = 1080;
const ROUNDS: usize = 15;

/// What libvmaf must not use, so that it uses as much as our instruction set.
const CPU_MASKS: [(InstructionSet, u64); 2] = [(InstructionSet::Avx2, 48), (InstructionSet::Avx512, 0)];

fn main() {
    println!(
        "{:8} {:5} {:8} {:>10} {:>10} {:>7} {:>10} {:>7}",
        "content", "depth", "set", "libvmaf", "ours", "ratio", "of five", "ratio"
    );
    for content in [Content::Natural, Content::Noise] {
        compare::<u8>(content, 8);
        compare::<u16>(content, 10);
    }
}

fn compare<T: Level + Bytes>(content: Content, depth: u32) {
    let clip = Clip::<T>::new(content, WIDTH, HEIGHT, depth);
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
        let clips = [(); 5].map(|()| Clip::<T>::new(content, WIDTH, HEIGHT, depth));
        let distorted = clips.each_ref().map(Clip::distorted);
        for _ in 0..ROUNDS {
            let mut extractor = Extractor::new("vif", &[], depth, cpu_mask);
            // The first pair of a context pays for its buffers.
            for _ in 0..2 {
                let pictures = (extractor.picture(&clip.reference()), extractor.picture(&clip.distorted()));
                theirs = theirs.min(cpu_time(|| {
                    extractor.measure(pictures.0, pictures.1);
                }));
                ours = ours.min(cpu_time(|| {
                    vif.measure(&clip.reference(), &clip.distorted()).unwrap();
                }));
            }
            of_five = of_five.min(cpu_time(|| {
                vif.measure_all(&clip.reference(), &distorted, &mut Sequential).unwrap();
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
