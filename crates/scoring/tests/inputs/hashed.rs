//! A digest that is computed while reading equals that of the file, or there is none.

use rstest::rstest;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::input::{Clip, DigestTable, RawFormat, ReadOptions, digest, open, probe};
use vmafx_scoring::picture::PictureFormat;

use crate::support::{PictureBuffer, TestDirectory, format, no_tools};

/// Random samples of every value that the bit depth allows.
fn samples(format: PictureFormat, frames: usize) -> Vec<u8> {
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

fn y4m(format: PictureFormat, frames: &[u8], parameters: &str) -> Vec<u8> {
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

#[derive(Clone, Copy)]
enum Each {
    Read,
    Skip,
    Alternate,
}

/// Reads or skips a clip to its end; returns the digest, if there is one.
fn digest_of_reading(
    clip: &Clip,
    change: impl FnOnce(&mut ReadOptions),
    padding: usize,
    each: Each,
) -> Option<String> {
    let book = DigestTable::default();
    let found = probe(clip, &no_tools()).unwrap();
    let mut options = ReadOptions { digests: Some(book.clone()), ..ReadOptions::whole(found.format) };
    change(&mut options);
    let mut source = open(clip, &found, &options, &no_tools()).unwrap();
    let mut buffer = PictureBuffer::new(options.format, padding);
    let mut skips = matches!(each, Each::Skip);
    loop {
        let there = if skips { source.skip() } else { source.read(&mut buffer.planes()) };
        if !there.unwrap() {
            return book.get(&clip.path);
        }
        skips ^= matches!(each, Each::Alternate);
    }
}

fn large(depth: BitDepth) -> PictureFormat {
    // The planes are larger than one read, and their sizes are not round.
    format(1003, 601, PixelFormat::Yuv420p, depth)
}

#[rstest]
fn reading_a_whole_file_in_any_way_gives_its_digest(
    #[values(BitDepth::Eight, BitDepth::Ten)] depth: BitDepth,
    #[values(BitDepth::Ten, BitDepth::Sixteen)] wanted: BitDepth,
    #[values("raw", "y4m", "y4m with parameters")] kind: &str,
    #[values(0, 5)] padding: usize,
    #[values(Each::Read, Each::Skip, Each::Alternate)] each: Each,
) {
    let (directory, format) = (TestDirectory::new(), large(depth));
    let frames = samples(format, 3);
    let clip = match kind {
        "raw" => Clip::described(directory.write("a.yuv", &frames), RawFormat { format, frame_rate: None }),
        "y4m" => Clip::new(directory.write("a.y4m", &y4m(format, &frames, ""))),
        _ => Clip::new(directory.write("a.y4m", &y4m(format, &frames, " Ip XVMAFX"))),
    };
    let found = digest_of_reading(&clip, |options| options.format.depth = wanted, padding, each);
    assert_eq!(found, Some(digest(&clip.path).unwrap()));
}

#[rstest]
#[case::not_from_the_start(|options: &mut ReadOptions| options.skip = 1)]
#[case::not_to_the_end(|options: &mut ReadOptions| options.take = Some(2))]
#[case::not_asked_for(|options: &mut ReadOptions| options.digests = None)]
fn reading_a_part_of_a_file_gives_no_digest(#[case] change: fn(&mut ReadOptions)) {
    let (directory, format) = (TestDirectory::new(), large(BitDepth::Eight));
    let frames = samples(format, 3);
    for clip in [
        Clip::described(directory.write("a.yuv", &frames), RawFormat { format, frame_rate: None }),
        Clip::new(directory.write("a.y4m", &y4m(format, &frames, ""))),
        Clip::new(directory.write("b.y4m", &y4m(format, &frames, " Ip"))),
    ] {
        assert_eq!(digest_of_reading(&clip, change, 0, Each::Read), None);
    }
}
