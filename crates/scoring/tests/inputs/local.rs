//! Y4M and raw YUV, read without `ffmpeg`.

use std::path::Path;

use proptest::prelude::*;
use rstest::rstest;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::input::{Clip, InputError, RawFormat, ReadOptions, open, probe};
use vmafx_scoring::picture::PictureFormat;

use crate::support::{PictureBuffer, TestDirectory, format, no_tools, read, read_whole, small, tools};

fn raw(path: &Path, format: PictureFormat) -> Clip {
    Clip::described(path, RawFormat { format, frame_rate: Some(30.0) })
}

/// Samples that differ everywhere and are valid for the bit depth.
fn samples(format: PictureFormat, frames: usize) -> Vec<u8> {
    let mask = u16::try_from((1_u32 << format.depth.bits()) - 1).unwrap();
    let count = u32::try_from(format.bytes() * frames / format.depth.bytes()).unwrap();
    (0..count)
        .flat_map(|index| {
            let [low, high, ..] = (index.wrapping_mul(40_503) >> 7).to_le_bytes();
            let value = u16::from_le_bytes([low, high]) & mask;
            value.to_le_bytes().into_iter().take(format.depth.bytes())
        })
        .collect()
}

fn y4m(tag: &str, format: PictureFormat, samples: &[u8], frame_header: &str) -> Vec<u8> {
    let mut file =
        format!("YUV4MPEG2 W{} H{} F30000:1001 Ip A1:1 {tag}\n", format.width, format.height).into_bytes();
    for frame in samples.chunks(format.bytes()) {
        file.extend_from_slice(frame_header.as_bytes());
        file.push(b'\n');
        file.extend_from_slice(frame);
    }
    file
}

#[rstest]
fn every_format_is_delivered_sample_by_sample(
    #[values(PixelFormat::Yuv420p, PixelFormat::Yuv422p, PixelFormat::Yuv444p)] chroma: PixelFormat,
    #[values(BitDepth::Eight, BitDepth::Ten, BitDepth::Twelve, BitDepth::Sixteen)] depth: BitDepth,
    #[values((64, 48), (33, 17), (1, 1))] (width, height): (u32, u32),
) {
    let directory = TestDirectory::new();
    let format = format(width, height, chroma, depth);
    let samples = samples(format, 4);
    let yuv = raw(&directory.write("a.yuv", &samples), format);
    let found = probe(&yuv, &no_tools()).unwrap();
    assert_eq!((found.codec.as_str(), found.format, found.frames), ("yuv", format, Some(4)));
    assert_eq!(read(&yuv, &no_tools(), |_| {}).samples(), samples);

    let sampling = match chroma {
        PixelFormat::Yuv420p => "420",
        PixelFormat::Yuv422p => "422",
        PixelFormat::Yuv444p => "444",
    };
    let suffix = if depth == BitDepth::Eight { String::new() } else { format!("p{}", depth.bits()) };
    for header in ["FRAME", "FRAME Ip XANY=1"] {
        let file = y4m(&format!("C{sampling}{suffix} XYSCSS={sampling}{suffix}"), format, &samples, header);
        let path = directory.write("a.y4m", &file);
        let found = probe(&Clip::new(&path), &no_tools()).unwrap();
        assert_eq!((found.codec.as_str(), found.format), ("y4m", format));
        assert_eq!(found.frames, (header == "FRAME").then_some(4));
        assert_eq!(found.frame_rate, Some(30_000.0 / 1001.0));
        assert_eq!(read_whole(&path, &no_tools()).samples(), samples);
    }
}

#[rstest]
#[case(BitDepth::Eight, BitDepth::Ten, 2)]
#[case(BitDepth::Eight, BitDepth::Sixteen, 8)]
#[case(BitDepth::Ten, BitDepth::Twelve, 2)]
#[case(BitDepth::Twelve, BitDepth::Sixteen, 4)]
fn a_higher_bit_depth_is_reached_by_shifting(
    #[case] stored: BitDepth,
    #[case] wanted: BitDepth,
    #[case] shift: u32,
) {
    let directory = TestDirectory::new();
    let format = format(35, 19, PixelFormat::Yuv420p, stored);
    let samples = samples(format, 3);
    let shifted: Vec<u8> = samples
        .chunks(stored.bytes())
        .flat_map(|sample| {
            let value = sample.iter().rev().fold(0, |value, &byte| value << 8 | u16::from(byte));
            (value << shift).to_le_bytes()
        })
        .collect();
    let clip = raw(&directory.write("a.yuv", &samples), format);
    assert_eq!(read(&clip, &no_tools(), |options| options.format.depth = wanted).samples(), shifted);
}

#[test]
fn a_lower_bit_depth_is_refused() {
    let directory = TestDirectory::new();
    let format = format(16, 16, PixelFormat::Yuv420p, BitDepth::Ten);
    let clip = raw(&directory.write("a.yuv", &samples(format, 1)), format);
    let (_, error) = read(&clip, &no_tools(), |options| options.format.depth = BitDepth::Eight).failure();
    assert!(
        error.contains("is 16x16 yuv420p 10 bit and would lose precision as 16x16 yuv420p 8 bit"),
        "{error}"
    );
}

#[rstest]
#[case::raw("yuv", "")]
#[case::plain("y4m", "FRAME")]
#[case::with_parameters("y4m", "FRAME It")]
fn skip_and_take_find_the_same_frames(#[case] kind: &str, #[case] header: &str) {
    let directory = TestDirectory::new();
    let format = small();
    let samples = samples(format, 9);
    let clip = match kind {
        "yuv" => raw(&directory.write("a.yuv", &samples), format),
        _ => Clip::new(directory.write("a.y4m", &y4m("C420jpeg", format, &samples, header))),
    };
    let frames: Vec<&[u8]> = samples.chunks(format.bytes()).collect();
    for (skip, take) in
        [(0, None), (3, Some(2)), (8, None), (8, Some(7)), (9, None), (100, Some(1)), (0, Some(0))]
    {
        let delivered = read(&clip, &no_tools(), |options| (options.skip, options.take) = (skip, take));
        let from = usize::try_from(skip).unwrap().min(9);
        let to = take.map_or(9, |take| (from + usize::try_from(take).unwrap()).min(9));
        assert_eq!(delivered.samples(), frames[from..to].concat(), "{skip} {take:?}");
    }
    // Every second frame.
    let found = probe(&clip, &no_tools()).unwrap();
    let mut source = open(&clip, &found, &ReadOptions::whole(format), &no_tools()).unwrap();
    let mut buffer = PictureBuffer::new(format, 8);
    let mut seen = Vec::new();
    while source.skip().unwrap() && source.read(&mut buffer.planes()).unwrap() {
        seen.push(buffer.samples());
    }
    assert_eq!(seen.concat(), [frames[1], frames[3], frames[5], frames[7]].concat());
}

#[test]
fn a_file_source_can_be_stopped() {
    let directory = TestDirectory::new();
    let clip = raw(&directory.write("a.yuv", &samples(small(), 3)), small());
    let found = probe(&clip, &no_tools()).unwrap();
    let mut source = open(&clip, &found, &ReadOptions::whole(small()), &no_tools()).unwrap();
    source.stop_handle().stop();
    assert!(matches!(
        source.read(&mut PictureBuffer::new(small(), 0).planes()),
        Err(InputError::Stopped { .. })
    ));
    assert!(matches!(source.skip(), Err(InputError::Stopped { .. })));
}

#[test]
fn a_raw_file_that_does_not_fit_names_a_format_that_would() {
    let directory = TestDirectory::new();
    let deep = format(576, 324, PixelFormat::Yuv420p, BitDepth::Ten);
    let path = directory.write("a.yuv", &vec![0; deep.bytes() / 2 * 3]);
    let error = probe(&raw(&path, deep), &no_tools()).unwrap_err().to_string();
    for part in [
        "a.yuv has 839808 bytes",
        "576x324 yuv420p 10 bit (559872 bytes each)",
        "279936 bytes are left over",
        "the size would fit 576x324 yuv420p 8 bit",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let path = directory.write("b.yuv", &vec![0; deep.bytes() + 1]);
    let error = probe(&raw(&path, deep), &no_tools()).unwrap_err().to_string();
    assert!(error.contains("or whether the file is cut off"), "{error}");
}

#[test]
fn a_raw_file_with_samples_too_large_for_its_depth_is_refused() {
    let directory = TestDirectory::new();
    let ten = format(64, 64, PixelFormat::Yuv420p, BitDepth::Ten);
    let mut bytes = samples(ten, 2);
    let at = ten.bytes() + 4000;
    bytes[at..at + 2].copy_from_slice(&1024_u16.to_le_bytes());
    let delivered = read(&raw(&directory.write("a.yuv", &bytes), ten), &no_tools(), |_| {});
    let (frames, error) = delivered.failure();
    assert_eq!(frames, 1);
    assert!(error.contains("frame 1 of") && error.contains("a sample of 1024"), "{error}");
}

#[rstest]
#[case::no_geometry("a.yuv", b"\0\0\0\0", "--size 1920x1080 --pixel-format yuv420p10le")]
#[case::not_y4m("a.y4m", b"hello", "the format of")]
#[case::empty("a.y4m", b"", "has no frame in it")]
#[case::header_only("a.y4m", b"YUV4MPEG2 W2 H2 C420\n", "has no frame in it")]
#[case::header_cut("a.y4m", b"YUV4MPEG2 W2 H2", "the file ends within it")]
#[case::mono(
    "a.y4m",
    b"YUV4MPEG2 W2 H2 Cmono\nFRAME\n1234",
    "its colour space \"mono\" has no chroma; convert"
)]
#[case::huge(
    "a.y4m",
    b"YUV4MPEG2 W70000 H2\nFRAME\n1234",
    "the width is \"70000\", not a number from 1 to 65535"
)]
fn an_unreadable_file_is_refused_with_the_reason_and_remedy(
    #[case] name: &str,
    #[case] bytes: &[u8],
    #[case] expected: &str,
) {
    let directory = TestDirectory::new();
    let error = probe(&Clip::new(directory.write(name, bytes)), &no_tools()).unwrap_err().to_string();
    assert!(error.contains(expected) && error.contains(name), "{error}");
}

#[test]
fn an_empty_raw_file_has_no_frames() {
    let directory = TestDirectory::new();
    let clip = raw(&directory.write("a.yuv", b""), small());
    assert!(matches!(probe(&clip, &no_tools()), Err(InputError::NoFrames { .. })));
}

#[rstest]
#[case::in_the_last_plane(1, "frame 2 has 28799 of 28800 bytes")]
#[case::in_the_first_plane(28_000, "frame 2 has 800 of 28800 bytes")]
#[case::between_header_and_samples(28_800, "frame 2 has 0 of 28800 bytes")]
#[case::in_the_header(28_803, "frame 2 of")]
fn a_cut_y4m_file_names_the_frame(#[case] missing: usize, #[case] expected: &str) {
    let directory = TestDirectory::new();
    let mut file = y4m("C420jpeg", small(), &samples(small(), 3), "FRAME");
    file.truncate(file.len() - missing);
    let path = directory.write("a.y4m", &file);
    let (frames, error) = read_whole(&path, &no_tools()).failure();
    assert_eq!(frames, 2);
    assert!(error.contains(expected), "{error}");
    // Skipping the frame does not hide the error.
    let (_, error) = read(&Clip::new(&path), &no_tools(), |options| options.skip = 3).failure();
    assert!(error.contains("frame 2 "), "{error}");
}

#[test]
fn a_raw_file_that_shrinks_after_the_probe_is_an_error() {
    let directory = TestDirectory::new();
    let clip = raw(&directory.write("a.yuv", &samples(small(), 3)), small());
    let found = probe(&clip, &no_tools()).unwrap();
    let mut source = open(&clip, &found, &ReadOptions::whole(small()), &no_tools()).unwrap();
    std::fs::OpenOptions::new().write(true).open(&clip.path).unwrap().set_len(28_800 + 10).unwrap();
    let (frames, error) = crate::support::drain(&mut *source).failure();
    assert_eq!(frames, 1);
    assert!(error.contains("frame 1 has 10 of 28800 bytes"), "{error}");
}

#[test]
fn bytes_in_the_place_of_a_frame_header_are_shown() {
    let directory = TestDirectory::new();
    let mut file = y4m("C420jpeg", small(), &samples(small(), 2), "FRAME");
    let second = file.len() - 28_800 - 6;
    file[second] = b'X';
    let (frames, error) = read_whole(&directory.write("a.y4m", &file), &no_tools()).failure();
    assert_eq!(frames, 1);
    assert!(error.contains("frame 1 of") && error.contains("it begins with \"XRAME\""), "{error}");
}

#[test]
fn a_picture_of_another_format_is_refused() {
    let directory = TestDirectory::new();
    let clip = raw(&directory.write("a.yuv", &samples(small(), 1)), small());
    let found = probe(&clip, &no_tools()).unwrap();
    let mut source = open(&clip, &found, &ReadOptions::whole(small()), &no_tools()).unwrap();
    let mut buffer = PictureBuffer::new(format(158, 120, PixelFormat::Yuv420p, BitDepth::Eight), 0);
    assert!(matches!(source.read(&mut buffer.planes()), Err(InputError::PictureMismatch { .. })));
}

#[rstest]
#[case::y4m("y4m")]
#[case::full_range("full")]
#[case::raw("yuv")]
fn a_local_file_is_scaled_like_any_other_and_keeps_its_range(#[case] kind: &str) {
    let directory = TestDirectory::new();
    let format = small();
    let samples = samples(format, 3);
    let bare = directory.write("bare.y4m", &y4m("C420jpeg", format, &samples, "FRAME"));
    let clip = match kind {
        "yuv" => raw(&directory.write("a.yuv", &samples), format),
        "full" => {
            Clip::new(directory.write("a.y4m", &y4m("C420jpeg XCOLORRANGE=FULL", format, &samples, "FRAME")))
        }
        _ => Clip::new(directory.write("a.y4m", &y4m("C420jpeg", format, &samples, "FRAME Ip"))),
    };
    let delivered =
        read(&clip, &tools(), |options| (options.format.width, options.format.height) = (200, 90));
    assert!(delivered.samples() == directory.samples(&bare, &["-vf", "scale=200:90:flags=bicubic"]));
    let error = read(&clip, &no_tools(), |options| options.format.width = 80).failure().1;
    assert!(error.contains("ffmpeg is needed to scale or convert"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_damaged_y4m_file_panics_or_yields_a_frame_that_is_not_there(
        header in "YUV4MPEG2 (W[0-9]{1,3} |H[0-9]{1,3} |C[a-z0-9]{0,7} |F[0-9:]{0,6} |X[A-Z]{0,5}=?[A-Z0-9]{0,5} ){0,6}\n?",
        body in proptest::collection::vec(any::<u8>(), 0..300),
        frames in 0_usize..3,
    ) {
        let directory = TestDirectory::new();
        let mut file = header.into_bytes();
        for _ in 0..frames {
            file.extend_from_slice(b"FRAME\n");
            file.extend_from_slice(&body);
        }
        let delivered = read_whole(&directory.write("a.y4m", &file), &no_tools());
        let bytes: usize = delivered.frames.iter().map(Vec::len).sum();
        prop_assert!(bytes <= file.len());
    }

    #[test]
    fn a_y4m_file_cut_anywhere_is_whole_frames_or_an_error(cut in 0_usize..1_000) {
        let directory = TestDirectory::new();
        let format = format(12, 10, PixelFormat::Yuv420p, BitDepth::Eight);
        let whole = y4m("C420jpeg", format, &samples(format, 4), "FRAME");
        let start = whole.len() - 4 * 186;
        let cut = cut.min(whole.len());
        let delivered = read_whole(&directory.write("a.y4m", &whole[..cut]), &no_tools());
        let proper = cut > start && (cut - start).is_multiple_of(186);
        prop_assert_eq!(delivered.end.is_ok(), proper);
        prop_assert_eq!(delivered.frames.len(), cut.saturating_sub(start) / 186);
    }
}
