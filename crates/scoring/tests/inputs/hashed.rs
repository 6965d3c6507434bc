//! Digests that come from reading: equal to those of the files, or not there.

use rstest::rstest;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::input::{Clip, DigestBook, RawFormat, Reading, digest, open, probe};
use vmafx_scoring::picture::Format;

use crate::support::{Room, Stage, format, no_tools};

/// Bytes without order and of every value that `depth` allows.
fn samples(format: Format, frames: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16).to_le_bytes()
    };
    let count = format.bytes() * frames / format.depth.bytes();
    (0..count)
        .flat_map(|_| match (format.depth, next()) {
            (BitDepth::Eight, [low, ..]) => vec![low],
            (depth, [low, high, ..]) => vec![low, high & (0xff_u8 >> (16 - depth.bits()))],
        })
        .collect()
}

fn y4m(format: Format, frames: &[u8], parameters: &str) -> Vec<u8> {
    let depth =
        if format.depth == BitDepth::Eight { String::new() } else { format!("p{}", format.depth.bits()) };
    let mut bytes =
        format!("YUV4MPEG2 W{} H{} F25:1 C420{depth}\n", format.width, format.height).into_bytes();
    for frame in frames.chunks(format.bytes()) {
        bytes.extend_from_slice(format!("FRAME{parameters}\n").as_bytes());
        bytes.extend_from_slice(frame);
    }
    bytes
}

/// What is done with each frame.
#[derive(Clone, Copy)]
enum Each {
    Read,
    Skip,
    InTurn,
}

/// Goes through a clip to its end; the digest that came of it.
fn gone_through(
    clip: &Clip,
    change: impl FnOnce(&mut Reading),
    padding: usize,
    each: Each,
) -> Option<String> {
    let book = DigestBook::default();
    let found = probe(clip, &no_tools()).unwrap();
    let mut reading = Reading { digests: Some(book.clone()), ..Reading::whole(found.format) };
    change(&mut reading);
    let mut source = open(clip, &found, &reading, &no_tools()).unwrap();
    let mut room = Room::new(reading.format, padding);
    let mut skips = matches!(each, Each::Skip);
    loop {
        let there = if skips { source.skip() } else { source.read(&mut room.planes()) };
        if !there.unwrap() {
            return book.get(&clip.path);
        }
        skips ^= matches!(each, Each::InTurn);
    }
}

fn large(depth: BitDepth) -> Format {
    // Planes that are larger than one read and no multiple of anything.
    format(1003, 601, PixelFormat::Yuv420p, depth)
}

#[rstest]
fn every_way_through_a_file_gives_its_digest(
    #[values(BitDepth::Eight, BitDepth::Ten)] depth: BitDepth,
    #[values(BitDepth::Ten, BitDepth::Sixteen)] wanted: BitDepth,
    #[values("raw", "y4m", "y4m with parameters")] kind: &str,
    #[values(0, 5)] padding: usize,
    #[values(Each::Read, Each::Skip, Each::InTurn)] each: Each,
) {
    let (stage, format) = (Stage::new(), large(depth));
    let frames = samples(format, 3);
    let clip = match kind {
        "raw" => Clip::described(stage.write("a.yuv", &frames), RawFormat { format, frame_rate: None }),
        "y4m" => Clip::new(stage.write("a.y4m", &y4m(format, &frames, ""))),
        _ => Clip::new(stage.write("a.y4m", &y4m(format, &frames, " Ip XVMAFX"))),
    };
    let found = gone_through(&clip, |reading| reading.format.depth = wanted, padding, each);
    assert_eq!(found, Some(digest(&clip.path).unwrap()));
}

#[rstest]
#[case::not_from_the_start(|reading: &mut Reading| reading.skip = 1)]
#[case::not_to_the_end(|reading: &mut Reading| reading.take = Some(2))]
#[case::not_asked_for(|reading: &mut Reading| reading.digests = None)]
fn a_part_of_a_file_gives_none(#[case] change: fn(&mut Reading)) {
    let (stage, format) = (Stage::new(), large(BitDepth::Eight));
    let frames = samples(format, 3);
    for clip in [
        Clip::described(stage.write("a.yuv", &frames), RawFormat { format, frame_rate: None }),
        Clip::new(stage.write("a.y4m", &y4m(format, &frames, ""))),
        Clip::new(stage.write("b.y4m", &y4m(format, &frames, " Ip"))),
    ] {
        assert_eq!(gone_through(&clip, change, 0, Each::Read), None);
    }
}
