//! Whether pictures of this size fit into the memory. Pure.
//!
//! A worker that runs out of memory half way has wasted its time, so the size is looked at before the first frame. What
//! a comparison takes is what was measured: a base, and for each thread a share that grows with the picture. Measured
//! for 1920x1080 with `vmaf_v0.6.1`, as the smallest limit under which it succeeds, in megabytes:
//!
//! | threads | 8 bit | 10 bit | 8 bit with all features | reckoned here |
//! |---------|-------|--------|-------------------------|---------------|
//! | 1       | 96    |        | 197                     | 183, 195, 357 |
//! | 2       | 205   | 251    | 391                     | 285, 310, 633 |
//! | 4       | 383   |        | 762                     | 490, 540, 1186|

use vmafx_job::{Feature, PixelFormat};
use vmafx_scoring::picture::Format;

use crate::failure::{Failure, Reason};

const MEGABYTE: u64 = 1_000_000;

/// Whatever the pictures are: the program, its tables, the stacks of its threads.
const BASE: u64 = 80 * MEGABYTE;

/// A thread that measures pictures of 1920x1080.
const THREAD: u64 = 90 * MEGABYTE;

/// The picture for which these were measured.
const MEASURED_PIXELS: u64 = 1920 * 1080;

/// More than any display: a larger picture is a damaged header or an attack, on every machine.
const MOST_PIXELS: u64 = 16_384 * 16_384;

/// How many threads pictures of this shape leave room for, of those that are wanted.
pub(super) fn threads(
    format: Format,
    features: &[Feature],
    wanted: u32,
    memory: u64,
) -> Result<u32, Failure> {
    let pixels = u64::from(format.width) * u64::from(format.height);
    if pixels > MOST_PIXELS {
        let message = format!(
            "pictures of {format} have {} megapixels; at most {} are scored",
            pixels / MEGABYTE,
            MOST_PIXELS / MEGABYTE
        );
        return Err(Failure::new(Reason::InputTooLarge, message));
    }
    let share = thread_bytes(format, features);
    let room = memory.saturating_sub(BASE) / share.max(1);
    if room == 0 {
        let message = format!(
            "pictures of {format} take {} MB to score, and a job has {} MB here; give the node more memory or fewer slots",
            (BASE + share).div_ceil(MEGABYTE),
            memory / MEGABYTE
        );
        return Err(Failure::new(Reason::OutOfMemory, message));
    }
    Ok(u32::try_from(room).unwrap_or(u32::MAX).min(wanted))
}

/// What a thread takes. Most of it are intermediate results, which are as deep for eight bits as for sixteen.
fn thread_bytes(format: Format, features: &[Feature]) -> u64 {
    let pixels = u64::from(format.width) * u64::from(format.height);
    let measured = THREAD + features.iter().map(|feature| feature_bytes(*feature)).sum::<u64>();
    let results = measured.saturating_mul(pixels) / MEASURED_PIXELS;
    // Pictures that wait or are measured: two of each clip.
    let halves_of_samples = match format.chroma {
        PixelFormat::Yuv420p => 3,
        PixelFormat::Yuv422p => 4,
        PixelFormat::Yuv444p => 6,
    };
    let pictures = 4 * pixels * halves_of_samples / 2 * format.depth.bytes() as u64;
    results.saturating_add(pictures)
}

/// What a feature adds to a thread that measures pictures of 1920x1080.
const fn feature_bytes(feature: Feature) -> u64 {
    let megabytes = match feature {
        Feature::Psnr | Feature::PsnrHvs => 2,
        Feature::Ssim => 45,
        Feature::MsSsim => 90,
        Feature::Cambi => 20,
        Feature::Ciede => 15,
    };
    megabytes * MEGABYTE
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use vmafx_job::BitDepth;

    use super::*;

    fn format(width: u32, height: u32, depth: BitDepth) -> Format {
        Format { width, height, chroma: PixelFormat::Yuv420p, depth }
    }

    /// The measurements of the table above; more must be asked for than was found to be needed.
    #[rstest]
    #[case(1, BitDepth::Eight, &[], 96)]
    #[case(2, BitDepth::Eight, &[], 205)]
    #[case(4, BitDepth::Eight, &[], 383)]
    #[case(2, BitDepth::Ten, &[], 251)]
    #[case(1, BitDepth::Eight, &Feature::ALL, 197)]
    #[case(2, BitDepth::Eight, &Feature::ALL, 391)]
    #[case(4, BitDepth::Eight, &Feature::ALL, 762)]
    fn what_is_reckoned_is_enough(
        #[case] wanted: u32,
        #[case] depth: BitDepth,
        #[case] features: &[Feature],
        #[case] measured: u64,
    ) {
        let share = thread_bytes(format(1920, 1080, depth), features);
        let reckoned = BASE + u64::from(wanted) * share;
        assert!(reckoned >= measured * MEGABYTE, "{reckoned}");
        assert_eq!(threads(format(1920, 1080, depth), features, wanted, reckoned), Ok(wanted));
    }

    #[rstest]
    #[case::plenty(4, 4_000, Ok(4))]
    #[case::fewer(4, 300, Ok(2))]
    #[case::one(4, 190, Ok(1))]
    #[case::none(4, 180, Err(Reason::OutOfMemory))]
    #[case::nothing(4, 0, Err(Reason::OutOfMemory))]
    fn threads_are_as_many_as_fit(
        #[case] wanted: u32,
        #[case] megabytes: u64,
        #[case] expected: Result<u32, Reason>,
    ) {
        let found = threads(format(1920, 1080, BitDepth::Eight), &[], wanted, megabytes * MEGABYTE);
        assert_eq!(found.map_err(|failure| failure.reason), expected);
    }

    #[test]
    fn a_picture_beyond_any_display_is_refused_whatever_the_memory() {
        let failure = threads(format(65_535, 65_535, BitDepth::Sixteen), &[], 1, u64::MAX).unwrap_err();
        assert_eq!(failure.reason, Reason::InputTooLarge);
        assert!(failure.message.contains("4294 megapixels; at most 268"), "{}", failure.message);
    }
}
