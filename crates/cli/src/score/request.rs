//! The options as a request to the engine. Pure: nothing is opened here.

use std::path::{Path, PathBuf};

use vmafx_scoring::score::Request;

use super::args::ScoreArgs;
use super::clips;

/// What the options ask for. `reference` and `distorted` are the inputs, however they were given.
pub(super) fn build(reference: &Path, distorted: &[PathBuf], args: &ScoreArgs) -> Request {
    let clip = |path: &PathBuf| clips::describe(path, args);
    let mut request = Request::new(clips::describe(reference, args), distorted.iter().map(clip).collect());
    request.models.clone_from(&args.model);
    request.threads = args.threads.map_or(request.threads, Into::into);
    request.chunks = args.chunks.into();
    request.options.clone_from(&args.options);
    // A positive offset leaves out frames of the distorted clips, a negative one frames of the reference.
    let skipped = args.offset.unsigned_abs();
    (request.reference_offset, request.distorted_offset) =
        if args.offset < 0 { (skipped, 0) } else { (0, skipped) };
    request
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;
    use vmafx_job::{Feature, FrameSize, ScaleTo};
    use vmafx_scoring::engine::models::ModelChoice;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ScoreArgs,
    }

    fn request(line: &str) -> Request {
        let args = Line::parse_from(["score"].into_iter().chain(line.split_whitespace())).args;
        let (reference, distorted) = args.inputs().unwrap();
        build(&reference, &distorted, &args)
    }

    #[rstest]
    #[case::by_place("ref.mkv a.mp4 b.mp4")]
    #[case::by_name("--distorted a.mp4 --reference ref.mkv --distorted b.mp4")]
    fn inputs_are_given_by_place_or_by_name(#[case] line: &str) {
        let request = request(line);
        assert_eq!(request.reference.path, PathBuf::from("ref.mkv"));
        let distorted: Vec<_> = request.distorted.iter().map(|clip| clip.path.to_str().unwrap()).collect();
        assert_eq!(distorted, ["a.mp4", "b.mp4"]);
    }

    #[rstest]
    #[case("", 0, 0)]
    #[case("--offset 2", 0, 2)]
    #[case("--offset -3", 3, 0)]
    #[case("--offset=-3", 3, 0)]
    fn an_offset_skips_frames_of_one_side(
        #[case] option: &str,
        #[case] reference: u64,
        #[case] distorted: u64,
    ) {
        let request = request(&format!("ref.mkv a.mp4 {option}"));
        assert_eq!((request.reference_offset, request.distorted_offset), (reference, distorted));
    }

    #[test]
    fn every_option_reaches_the_engine() {
        let request = request(
            "ref.mkv a.mp4 --model vmaf_v0.6.1 --model m/x.json --feature psnr,ssim --feature cambi --threads 3 \
             --chunks 4 --subsample 5 --shortest --scale-to 640x360",
        );
        assert_eq!(
            request.models,
            [ModelChoice::Named("vmaf_v0.6.1".to_owned()), ModelChoice::File("m/x.json".into())]
        );
        let options = &request.options;
        assert_eq!(options.features, [Feature::Psnr, Feature::Ssim, Feature::Cambi]);
        assert_eq!((request.threads, request.chunks), (3, 4));
        assert_eq!((options.step(), options.scores_shortest()), (5, true));
        assert_eq!(options.scale_to, Some(ScaleTo::Size(FrameSize { width: 640, height: 360 })));
    }

    #[test]
    fn without_options_the_model_is_chosen_and_every_frame_scored() {
        let request = request("ref.mkv a.mp4");
        assert_eq!(request.models, [ModelChoice::Auto]);
        let options = &request.options;
        assert_eq!((request.chunks, options.step(), options.scores_shortest()), (1, 1, false));
        assert_eq!(options.scale_to.unwrap_or_default(), ScaleTo::Reference);
    }
}
