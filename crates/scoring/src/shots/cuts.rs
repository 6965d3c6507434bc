//! The decision which frames begin a shot. Pure.

use super::Shot;
use super::difference::{FrameDifference, REACH};

/// Levels of eight bits by which the cells of a frame differ from those of the frame before at a cut.
pub(super) const MIN_CHANGE: f32 = 5.0;
/// How many times larger the difference at a cut is than those around it.
const PEAK_RATIO: f32 = 2.0;
/// The frames on each side of a cut among which its difference must be a peak.
const NEIGHBOURS: usize = 4;
/// Cells that correlate more than this show the same content.
const MAX_CORRELATION: f32 = 0.7;
/// A frame before and one after resemble each other if they differ by less than this share of the difference in between.
const RESEMBLANCE: f32 = 0.5;
/// The minimum number of frames between two cuts.
const MIN_DISTANCE: usize = 4;

/// The shots of a clip, with the difference of each of its frames.
pub(crate) fn shots(frames: &[FrameDifference]) -> Vec<Shot> {
    let mut cuts: Vec<usize> = Vec::new();
    for frame in 1..frames.len() {
        let is_distant = cuts.last().is_none_or(|last| frame - last >= MIN_DISTANCE);
        if is_distant && is_cut(frames, frame) {
            cuts.push(frame);
        }
    }
    let starts = [0].into_iter().filter(|_| !frames.is_empty()).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([frames.len()]);
    let shot =
        |(first, end): (usize, usize)| Shot { first_frame: first as u64, frames: (end - first) as u64 };
    starts.zip(ends).map(shot).collect()
}

fn is_cut(frames: &[FrameDifference], frame: usize) -> bool {
    let change = frames[frame].changes[0];
    change >= MIN_CHANGE
        && frames[frame].correlation <= MAX_CORRELATION
        && change >= PEAK_RATIO * change_around(frames, frame)
        && !resembles_across(frames, frame, change * RESEMBLANCE)
}

/// The usual difference before or after a frame, whichever is larger. It is a median, so that another cut nearby does not count,
/// and movement that begins or ends at the frame does.
fn change_around(frames: &[FrameDifference], frame: usize) -> f32 {
    // The first frame of a clip has no difference.
    let before = frame.saturating_sub(NEIGHBOURS).max(1)..frame;
    let after = frame + 1..(frame + 1 + NEIGHBOURS).min(frames.len());
    upper_median(&frames[before]).max(upper_median(&frames[after]))
}

fn upper_median(frames: &[FrameDifference]) -> f32 {
    let mut changes: Vec<f32> = frames.iter().map(|frame| frame.changes[0]).collect();
    changes.sort_by(f32::total_cmp);
    changes.get(changes.len() / 2).copied().unwrap_or(0.0)
}

/// Whether a frame before `frame` and one from `frame` on differ by less than `limit`, other than the two next to each other.
fn resembles_across(frames: &[FrameDifference], frame: usize, limit: f32) -> bool {
    let later = frame..(frame + REACH).min(frames.len());
    later.into_iter().any(|later| {
        // Distances that reach back across the cut.
        let nearest = (later - frame + 1).max(2);
        (nearest..=REACH).any(|distance| frames[later].changes[distance - 1] < limit)
    })
}

#[cfg(test)]
mod tests {
    use super::super::cells::{CELLS, CellMeans};
    use super::super::difference::DifferenceMeter;
    use super::*;
    use rstest::rstest;

    /// Cells of a scene, which does not correlate with that of another number, at `brightness` percent.
    fn scene(number: u32, brightness: u32) -> [u8; CELLS] {
        let mut seed = number.wrapping_mul(0x9e37_79b9) + 1;
        std::array::from_fn(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u8::try_from((16 + (seed >> 24) * 200 / 256) * brightness / 100).unwrap()
        })
    }

    fn starts(frames: &[[u8; CELLS]]) -> Vec<u64> {
        let mut meter = DifferenceMeter::default();
        let differences: Vec<_> = frames.iter().map(|frame| meter.push(CellMeans(*frame))).collect();
        let shots = shots(&differences);
        assert_eq!(shots.iter().map(|shot| shot.frames).sum::<u64>(), frames.len() as u64);
        assert!(shots.windows(2).all(|pair| pair[0].end() == pair[1].first_frame), "{shots:?}");
        shots.iter().map(|shot| shot.first_frame).collect()
    }

    fn still(number: u32, frames: usize) -> Vec<[u8; CELLS]> {
        vec![scene(number, 100); frames]
    }

    fn white(frames: usize) -> Vec<[u8; CELLS]> {
        vec![[235; CELLS]; frames]
    }

    fn black(frames: usize) -> Vec<[u8; CELLS]> {
        vec![[16; CELLS]; frames]
    }

    #[test]
    fn no_frames_have_no_shot() {
        assert_eq!(shots(&[]), []);
    }

    #[rstest]
    #[case::one_frame(&[still(1, 1)], &[0])]
    #[case::one_scene(&[still(1, 30)], &[0])]
    #[case::two_scenes(&[still(1, 10), still(2, 10)], &[0, 10])]
    #[case::the_last_frame(&[still(1, 10), still(2, 1)], &[0, 10])]
    #[case::the_second_frame(&[still(1, 1), still(2, 10)], &[0, 1])]
    #[case::short_scenes(&[still(1, 4), still(2, 4), still(3, 4), still(4, 4)], &[0, 4, 8, 12])]
    #[case::black_between(&[still(1, 10), black(10), still(2, 10)], &[0, 10, 20])]
    fn hard_cuts_are_found(#[case] parts: &[Vec<[u8; CELLS]>], #[case] expected: &[u64]) {
        assert_eq!(starts(&parts.concat()), expected);
    }

    #[rstest]
    fn a_flash_or_dropout_is_not_a_cut(
        #[values(1, 2, 3)] frames: usize,
        #[values(true, false)] bright: bool,
    ) {
        let flash = if bright { white(frames) } else { black(frames) };
        assert_eq!(starts(&[still(1, 10), flash, still(1, 10)].concat()), [0]);
    }

    #[test]
    fn a_flash_at_a_cut_is_one_cut() {
        assert_eq!(starts(&[still(1, 10), white(2), still(2, 10)].concat()), [0, 10]);
    }

    #[rstest]
    fn a_fade_is_not_a_cut(#[values(5, 12, 25, 50)] frames: u32) {
        let fade = |number: u32, rising: bool| -> Vec<[u8; CELLS]> {
            let step =
                |frame: u32| scene(number, 100 * (if rising { frame } else { frames - frame }) / frames);
            (0..=frames).map(step).collect()
        };
        let parts = [still(1, 10), fade(1, false), fade(2, true), still(2, 10)];
        assert_eq!(starts(&parts.concat()), [0]);
    }

    #[rstest]
    fn a_dissolve_is_not_a_cut(#[values(5, 12, 25)] frames: u32) {
        let (from, to) = (scene(1, 100), scene(2, 100));
        let mixed = |frame: u32| {
            std::array::from_fn(|cell| {
                let sum = u32::from(from[cell]) * (frames - frame) + u32::from(to[cell]) * frame;
                u8::try_from(sum / frames).unwrap()
            })
        };
        let dissolve: Vec<_> = (1..frames).map(mixed).collect();
        assert_eq!(starts(&[still(1, 10), dissolve, still(2, 10)].concat()), [0]);
    }

    #[test]
    fn a_cut_that_is_blended_over_one_frame_is_one_cut() {
        let (from, to) = (scene(1, 100), scene(2, 100));
        let blend = std::array::from_fn(|cell| u8::midpoint(from[cell], to[cell]));
        assert_eq!(starts(&[still(1, 10), vec![blend], still(2, 10)].concat()), [0, 10]);
    }

    #[test]
    fn a_change_of_light_is_not_a_cut() {
        let bright = (0..20).map(|frame| scene(1, 105 - frame * 2)).collect();
        assert_eq!(starts(&[vec![scene(1, 40); 10], bright].concat()), [0]);
    }

    /// Each frame shows something else, as in a very fast pan.
    #[test]
    fn movement_that_goes_on_is_not_a_cut() {
        let pan: Vec<_> = (0..20).map(|frame| scene(frame, 100)).collect();
        assert_eq!(starts(&[still(0, 10), pan, still(19, 10)].concat()), [0]);
    }

    #[test]
    fn a_clip_that_ends_earlier_has_the_same_shots_before_its_last_frames() {
        let whole = [still(1, 10), still(2, 20), white(2), still(2, 10)].concat();
        for length in 20..whole.len() {
            assert_eq!(starts(&whole[..length])[..2], [0, 10], "{length} frames");
        }
    }
}
