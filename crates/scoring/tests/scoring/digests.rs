//! The digests in a result do not depend on how the clips were read.

use rstest::rstest;
use vmafx_job::BitDepth;
use vmafx_scoring::input::digest;
use vmafx_scoring::outcome::ScoringOutcome;
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::Request;

use crate::clips::{Clips, format, named, outcome, run, score_every, score_shortest};

fn request(clips: &Clips, ours: u64, theirs: u64) -> Request {
    let mut request =
        Request::new(clips.clip("reference.yuv", ours, 0), vec![clips.clip("distorted.yuv", theirs, 2)]);
    request.models = named("vmaf_v0.6.1");
    request.threads = 1;
    request
}

fn assert_digests(found: &ScoringOutcome) {
    for input in [&found.reference, &found.distorted] {
        assert_eq!(input.digest, digest(&input.path).unwrap(), "{}", input.path.display());
    }
}

#[rstest]
#[case::as_they_are(|_: &mut Request| {})]
#[case::by_several_threads(|request: &mut Request| request.threads = 8)]
#[case::with_a_step(|request: &mut Request| score_every(request, 3))]
#[case::in_chunks(|request: &mut Request| request.chunks = 2)]
#[case::in_chunks_with_a_step(|request: &mut Request| {
    request.chunks = 2;
    score_every(request, 3);
})]
#[case::with_offsets(|request: &mut Request| (request.reference_offset, request.distorted_offset) = (2, 2))]
#[case::with_one_offset(|request: &mut Request| {
    request.distorted_offset = 2;
    score_shortest(request);
})]
#[case::with_itself(|request: &mut Request| request.distorted = vec![request.reference.clone()])]
fn a_result_has_the_digests_of_whole_files(#[case] change: fn(&mut Request)) {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips, 12, 12);
    change(&mut request);
    assert_digests(&outcome(&request));
}

#[rstest]
fn a_digest_also_covers_unpaired_frames(
    #[values((12, 7), (7, 12))] (ours, theirs): (u64, u64),
    #[values(1, 4)] step: u32,
) {
    let clips = Clips::new(format(160, 90));
    let mut request = request(&clips, ours, theirs);
    score_shortest(&mut request);
    score_every(&mut request, step);
    assert_digests(&outcome(&request));
}

#[test]
fn a_ladder_of_several_formats_has_the_digest_of_every_file() {
    let clips = Clips::new(format(160, 90));
    let deep = Clips::new(PictureFormat { depth: BitDepth::Ten, ..format(160, 90) });
    let mut request = request(&clips, 7, 7);
    request.distorted.push(deep.clip("deep.yuv", 7, 2));
    request.distorted.push(request.distorted[0].clone());
    let outcomes = run(&request).unwrap();
    assert_eq!(outcomes.len(), 3);
    outcomes.iter().for_each(assert_digests);
}
