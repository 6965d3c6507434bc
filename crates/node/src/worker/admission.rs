//! How many threads fit into the memory of a job. Pure.
//!
//! A worker that runs out of memory half way has wasted its time, so the picture size is checked before the first frame.
//! The estimate is a base plus a share for each thread that grows with the picture. The smallest limits under which a
//! comparison of 1920x1080 with `vmaf_v0.6.1` succeeds, in megabytes, against the estimates of this module:
//!
//! | threads | 8 bit | 10 bit | 8 bit with all features | estimates     |
//! |---------|-------|--------|-------------------------|---------------|
//! | 1       | 96    |        | 197                     | 183, 195, 357 |
//! | 2       | 205   | 251    | 391                     | 285, 310, 633 |
//! | 4       | 383   |        | 762                     | 490, 540, 1186|

use vmafx_job::{Failure, FailureReason, Feature, PixelFormat};
use vmafx_scoring::picture::PictureFormat;

const MEGABYTE: u64 = 1_000_000;

/// What does not depend on the picture: the program, its tables, the stacks of its threads.
const BASE_BYTES: u64 = 80 * MEGABYTE;

/// A thread that computes features of [`MEASURED_PIXELS`].
const THREAD_BYTES: u64 = 90 * MEGABYTE;

const MEASURED_PIXELS: u64 = 1920 * 1080;

/// More than any display has. A larger picture is a damaged header or an attack, so it is refused on every machine.
const MAX_PIXELS: u64 = 16_384 * 16_384;

/// The number of threads that fit, at most `wanted`.
pub(super) fn threads(
    format: PictureFormat,
    features: &[Feature],
    wanted: u32,
    memory: u64,
) -> Result<u32, Failure> {
    let pixels = u64::from(format.width) * u64::from(format.height);
    if pixels > MAX_PIXELS {
        let message = format!(
            "pictures of {format} have {} megapixels; the maximum is {}",
            pixels / MEGABYTE,
            MAX_PIXELS / MEGABYTE
        );
        return Err(Failure::new(FailureReason::InputTooLarge, message));
    }
    let share = thread_bytes(format, features);
    let room = memory.saturating_sub(BASE_BYTES) / share.max(1);
    if room == 0 {
        let message = format!(
            "pictures of {format} need {} MB to score, and a job on this node has {} MB; give the node more memory or fewer slots",
            (BASE_BYTES + share).div_ceil(MEGABYTE),
            memory / MEGABYTE
        );
        return Err(Failure::new(FailureReason::OutOfMemory, message));
    }
    Ok(u32::try_from(room).unwrap_or(u32::MAX).min(wanted))
}

/// Memory of one thread. Most of it holds intermediate results, which take as much for 8 bit as for 16.
fn thread_bytes(format: PictureFormat, features: &[Feature]) -> u64 {
    let pixels = u64::from(format.width) * u64::from(format.height);
    let measured = THREAD_BYTES + features.iter().map(|feature| feature_bytes(*feature)).sum::<u64>();
    let results = measured.saturating_mul(pixels) / MEASURED_PIXELS;
    // Two pictures of each clip are queued or in use.
    let half_samples_per_pixel = match format.chroma {
        PixelFormat::Yuv420p => 3,
        PixelFormat::Yuv422p => 4,
        PixelFormat::Yuv444p => 6,
    };
    let pictures = 4 * pixels * half_samples_per_pixel / 2 * format.depth.bytes() as u64;
    results.saturating_add(pictures)
}

/// What a feature adds to a thread that computes [`MEASURED_PIXELS`].
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

    fn format(width: u32, height: u32, depth: BitDepth) -> PictureFormat {
        PictureFormat { width, height, chroma: PixelFormat::Yuv420p, depth }
    }

    /// The measurements of the table above: no estimate may be below one.
    #[rstest]
    #[case(1, BitDepth::Eight, &[], 96)]
    #[case(2, BitDepth::Eight, &[], 205)]
    #[case(4, BitDepth::Eight, &[], 383)]
    #[case(2, BitDepth::Ten, &[], 251)]
    #[case(1, BitDepth::Eight, &Feature::ALL, 197)]
    #[case(2, BitDepth::Eight, &Feature::ALL, 391)]
    #[case(4, BitDepth::Eight, &Feature::ALL, 762)]
    fn an_estimate_is_not_below_what_was_measured(
        #[case] wanted: u32,
        #[case] depth: BitDepth,
        #[case] features: &[Feature],
        #[case] measured: u64,
    ) {
        let share = thread_bytes(format(1920, 1080, depth), features);
        let estimate = BASE_BYTES + u64::from(wanted) * share;
        assert!(estimate >= measured * MEGABYTE, "{estimate}");
        assert_eq!(threads(format(1920, 1080, depth), features, wanted, estimate), Ok(wanted));
    }

    #[rstest]
    #[case::plenty(4, 4_000, Ok(4))]
    #[case::fewer(4, 300, Ok(2))]
    #[case::one(4, 190, Ok(1))]
    #[case::none(4, 180, Err(FailureReason::OutOfMemory))]
    #[case::nothing(4, 0, Err(FailureReason::OutOfMemory))]
    fn threads_are_as_many_as_fit(
        #[case] wanted: u32,
        #[case] megabytes: u64,
        #[case] expected: Result<u32, FailureReason>,
    ) {
        let found = threads(format(1920, 1080, BitDepth::Eight), &[], wanted, megabytes * MEGABYTE);
        assert_eq!(found.map_err(|failure| failure.reason), expected);
    }

    #[test]
    fn a_picture_beyond_any_display_is_refused_whatever_the_memory() {
        let failure = threads(format(65_535, 65_535, BitDepth::Sixteen), &[], 1, u64::MAX).unwrap_err();
        assert_eq!(failure.reason, FailureReason::InputTooLarge);
        assert!(failure.message.contains("4294 megapixels; the maximum is 268"), "{}", failure.message);
    }
}
