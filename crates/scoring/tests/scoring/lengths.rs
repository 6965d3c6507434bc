//! Clips of different length, and clips without frames.

use rstest::rstest;
use vmafx_scoring::input::{Clip, InputError};
use vmafx_scoring::outcome::Warning;
use vmafx_scoring::score::{Request, ScoreError};

use crate::clips::{Clips, bits, format, named, outcome, raw, run, score_shortest};
use crate::mixed::{Content, converted};

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
    assert!(found.warnings.contains(&Warning::Shortened {
        reference: unpaired.0,
        distorted: unpaired.1,
        estimated: false
    }));
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

const LONG: u64 = 300;
const SHORT: u64 = 6;
/// Frames of both clips that may be read: the pairs, one or two more of the longer clip, and those that are read ahead.
const MOST_READ: u64 = 2 * SHORT + 6;

/// A clip in a file of this kind.
fn kind_of_clip(clips: &Clips, name: &str, content: Content, frames: u64, loss: u8) -> Clip {
    let samples = clips.clip(&format!("{name}.samples"), frames, loss);
    let path = converted(clips, &samples, content, name);
    if content == Content::Raw { raw(&path, clips.format) } else { Clip::new(path) }
}

/// A long and a short clip in files of this kind.
fn very_different(clips: &Clips, content: Content, ours: u64, theirs: u64) -> Request {
    let reference = kind_of_clip(clips, "reference", content, ours, 0);
    let mut request = Request::new(reference, vec![kind_of_clip(clips, "distorted", content, theirs, 2)]);
    request.models = named("vmaf_v0.6.1");
    request
}

#[rstest]
fn the_longer_clip_is_refused_without_decoding_it_to_its_end(
    #[values(Content::Raw, Content::Y4m, Content::Mp4)] content: Content,
    #[values((LONG, SHORT), (SHORT, LONG))] (ours, theirs): (u64, u64),
    #[values(1, 4)] chunks: u32,
) {
    let clips = Clips::new(format(160, 90));
    let mut request = very_different(&clips, content, ours, theirs);
    request.chunks = chunks;
    let error = run(&request).unwrap_err();
    let frames = |count: u64| match content {
        // The file tells its length by the duration, because it was not decoded.
        Content::Mp4 if count == LONG => format!("about {count}"),
        _ => count.to_string(),
    };
    let expected = format!("has {} frames and", frames(ours));
    assert!(matches!(error, ScoreError::LengthsDiffer { .. }), "{error}");
    assert!(error.to_string().contains(&expected), "{error}");
    assert!(error.to_string().contains(&format!("has {} (after", frames(theirs))), "{error}");
    assert!(request.activity.frames() <= MOST_READ, "{:?}", request.activity);
}

#[rstest]
fn containers_of_very_different_length_are_refused_before_a_frame_is_read(
    #[values((600, SHORT), (SHORT, 600))] (ours, theirs): (u64, u64),
) {
    let clips = Clips::new(format(160, 90));
    let mut request = very_different(&clips, Content::Mp4, ours, theirs);
    let error = run(&request).unwrap_err().to_string();
    assert!(error.contains(&format!("has about {ours} frames and")), "{error}");
    assert!(error.contains(&format!("has about {theirs} (after")), "{error}");
    assert_eq!(request.activity.frames(), 0);
    score_shortest(&mut request);
    assert_eq!(outcome(&request).frames.len(), usize::try_from(SHORT).unwrap());
}

#[rstest]
fn the_shortest_is_compared_without_decoding_the_longer_clip_to_its_end(
    #[values(Content::Raw, Content::Y4m, Content::Mp4)] content: Content,
    #[values((LONG, SHORT), (SHORT, LONG))] (ours, theirs): (u64, u64),
) {
    let clips = Clips::new(format(160, 90));
    let mut request = very_different(&clips, content, ours, theirs);
    score_shortest(&mut request);
    let found = outcome(&request);
    assert!(request.activity.frames() <= MOST_READ, "{:?}", request.activity);
    assert_eq!((found.reference.frames, found.distorted.frames), (ours, theirs));
    let estimated = content == Content::Mp4;
    assert_eq!(found.reference.frames_estimated, estimated && ours == LONG);
    assert_eq!(found.distorted.frames_estimated, estimated && theirs == LONG);
    assert_eq!(found.alignment.unpaired_estimated, estimated);
    assert!(found.reference.digest.len() > 7 && found.distorted.digest.len() > 7, "of the whole files");
    let equal = Clips::new(format(160, 90));
    assert_eq!(bits(&found), bits(&outcome(&very_different(&equal, content, SHORT, SHORT))));
}

/// A clip that broke off must not be taken for a short one.
#[rstest]
#[case::as_the_reference(true)]
#[case::as_the_distorted_clip(false)]
fn a_damaged_clip_is_no_short_clip(#[case] is_reference: bool) {
    let clips = Clips::new(format(160, 90));
    let mut request = very_different(&clips, Content::Mp4, LONG, LONG);
    let damaged = if is_reference { &mut request.reference } else { &mut request.distorted[0] };
    // The index of the samples is at the end of the file, so the samples are overwritten in its middle.
    let mut bytes = std::fs::read(&damaged.path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4000].fill(0);
    damaged.path = clips.path("damaged");
    std::fs::write(&damaged.path, bytes).unwrap();
    score_shortest(&mut request);
    let error = run(&request).unwrap_err();
    assert!(matches!(error, ScoreError::Input(InputError::Decoder { .. })), "{error}");
}

/// Its end is not read, but the size of the file contradicts it.
#[test]
fn a_longer_clip_that_is_cut_off_within_a_frame_gets_no_score() {
    let clips = Clips::new(format(160, 90));
    let mut request = very_different(&clips, Content::Y4m, LONG, SHORT);
    let bytes = std::fs::read(&request.reference.path).unwrap();
    std::fs::write(&request.reference.path, &bytes[..bytes.len() - 77]).unwrap();
    score_shortest(&mut request);
    let error = run(&request).unwrap_err();
    assert!(matches!(error, ScoreError::Input(InputError::Truncated { .. })), "{error}");
}

#[test]
fn everything_that_is_read_counts_as_activity() {
    let clips = Clips::new(format(160, 90));
    let request = very_different(&clips, Content::Mp4, SHORT, SHORT);
    let files: u64 = [&request.reference, &request.distorted[0]]
        .iter()
        .map(|clip| std::fs::metadata(&clip.path).unwrap().len())
        .sum();
    outcome(&request);
    let decoded = 2 * SHORT * clips.format.bytes() as u64;
    assert_eq!(request.activity.frames(), 2 * SHORT);
    assert!(
        request.activity.bytes() >= decoded + files,
        "decoded frames and digests: {:?}",
        request.activity
    );
}
