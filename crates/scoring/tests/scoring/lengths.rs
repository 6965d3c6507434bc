//! Clips of different length, and clips without frames.

use rstest::rstest;
use vmafx_scoring::outcome::Warning;
use vmafx_scoring::score::{Request, ScoreError};

use crate::clips::{Clips, bits, format, named, outcome, run, score_shortest};

fn request(clips: &Clips, ours: u64, theirs: u64) -> Request {
    let mut request =
        Request::new(clips.clip("reference.yuv", ours, 0), vec![clips.clip("distorted.yuv", theirs, 2)]);
    request.models = named("vmaf_v0.6.1");
    request
}

#[rstest]
#[case::shorter(9, 7)]
#[case::longer(7, 9)]
fn clips_of_different_length_are_refused_with_both_counts(#[case] ours: u64, #[case] theirs: u64) {
    let clips = Clips::new(format(160, 90));
    let error = run(&request(&clips, ours, theirs)).unwrap_err();
    assert!(matches!(error, ScoreError::LengthsDiffer { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("{ours} frames")) && text.contains(&format!("has {theirs}")), "{text}");
    assert!(text.contains("reference.yuv") && text.contains("distorted.yuv"), "{text}");
}

#[rstest]
#[case::shorter(9, 7, (2, 0))]
#[case::longer(7, 9, (0, 2))]
fn the_shortest_is_compared_on_request(#[case] ours: u64, #[case] theirs: u64, #[case] unpaired: (u64, u64)) {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips, ours, theirs);
    score_shortest(&mut request);
    let found = outcome(&request);
    assert_eq!((found.alignment.unpaired_reference, found.alignment.unpaired_distorted), unpaired);
    assert!(found.warnings.contains(&Warning::Shortened { reference: unpaired.0, distorted: unpaired.1 }));
    let other = Clips::new(format(160, 90));
    assert_eq!(bits(&found), bits(&outcome(&self::request(&other, 7, 7))));
}

#[test]
fn an_offset_skips_frames_at_the_start() {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips, 9, 7);
    request.reference_offset = 2;
    let found = outcome(&request);
    assert_eq!(found.frames.len(), 7);
    assert_eq!((found.reference.frames, found.distorted.frames), (9, 7));
    assert_eq!(found.alignment.reference_offset, 2);
    // Frame 0 of the distorted clip is compared with frame 2 of the reference.
    assert!(found.models[0].scores[0] < 90.0);
}

#[rstest]
#[case::empty_reference(0, 5, "reference.yuv")]
#[case::empty_distorted(5, 0, "distorted.yuv")]
fn a_clip_without_frames_is_refused(#[case] ours: u64, #[case] theirs: u64, #[case] named: &str) {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips, ours, theirs);
    score_shortest(&mut request);
    let error = run(&request).unwrap_err();
    assert!(error.to_string().contains(named), "{error}");
}

#[test]
fn an_offset_beyond_the_end_leaves_nothing_to_compare() {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips, 5, 5);
    request.reference_offset = 5;
    score_shortest(&mut request);
    let error = run(&request).unwrap_err();
    assert!(matches!(error, ScoreError::NoFrames { offset: 5, .. }), "{error}");
}
