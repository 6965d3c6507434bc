//! Memory does not grow with the length of a clip.

use std::process::Command;

use crate::clips::{Clips, format, named, outcome};

const FRAMES: &str = "VMAFX_TEST_FRAMES";

/// The test below runs this in a process of its own, because the peak is that of a process.
#[test]
#[ignore = "a part of memory_does_not_grow_with_the_length_of_a_clip"]
fn measured_in_a_process_of_its_own() {
    let frames = std::env::var(FRAMES).unwrap().parse().unwrap();
    let clips = Clips::new(format(176, 144));
    // Written frame by frame, so that the generator does not determine the peak.
    for (name, loss) in [("reference.yuv", 0), ("distorted.yuv", 3)] {
        let mut file = std::fs::File::create(clips.path(name)).unwrap();
        for frame in 0..frames {
            std::io::Write::write_all(&mut file, &crate::clips::picture(clips.format, frame % 24, loss))
                .unwrap();
        }
    }
    let clip = |name: &str| crate::clips::raw(&clips.path(name), clips.format);
    let mut request = vmafx_scoring::score::Request::new(clip("reference.yuv"), vec![clip("distorted.yuv")]);
    request.models = named("vmaf_v0.6.1");
    request.threads = 2;
    assert_eq!(outcome(&request).frames.len() as u64, frames);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak {}", peak.trim().trim_end_matches(" kB"));
}

fn peak_kilobytes(frames: u64) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "memory::measured_in_a_process_of_its_own", "--nocapture"])
        .env(FRAMES, frames.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text.lines().find_map(|line| line.split("peak ").nth(1)).unwrap().trim().parse().unwrap()
}

#[test]
fn memory_does_not_grow_with_the_length_of_a_clip() {
    let (short, long) = (peak_kilobytes(60), peak_kilobytes(600));
    // If each frame kept a picture, it would be 20 megabytes more.
    assert!(long < short + short / 4 + 2_000, "{short} kB for 60 frames, {long} kB for 600");
}
