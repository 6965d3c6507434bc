//! The scoring request of the options. Pure: no file is opened.

use std::path::{Path, PathBuf};

use vmafx_job::ReportFormat;
use vmafx_scoring::engine::{Engine, cpu_mask_of};
use vmafx_scoring::input::{Clip, RawFormat};
use vmafx_scoring::report::format_of;
use vmafx_scoring::score::Request;

use super::args::ScoreArgs;

pub(super) fn build(reference: &Path, distorted: &[PathBuf], args: &ScoreArgs) -> Request {
    let distorted = distorted.iter().map(|path| clip(path, args)).collect();
    let mut request = Request::new(clip(reference, args), distorted);
    request.models.clone_from(&args.model);
    request.threads = args.threads.map_or(request.threads, Into::into);
    request.chunks = args.chunks.into();
    request.engine = args.engine.into();
    if let Some(set) = args.instruction_set {
        request.cpu_mask = cpu_mask_of(set);
        if let Engine::Native(best) = &mut request.engine {
            *best = set;
        }
    }
    request.options.clone_from(&args.options);
    request.pictures = !args.no_pictures && args.report.iter().any(|path| is_html(path));
    // A positive offset skips frames of the distorted clips, a negative one frames of the reference.
    let skipped = args.offset.unsigned_abs();
    (request.reference_offset, request.distorted_offset) =
        if args.offset < 0 { (skipped, 0) } else { (0, skipped) };
    request
}

fn is_html(report: &Path) -> bool {
    format_of(report).is_ok_and(|format| format == ReportFormat::Html)
}

/// The clip with the description of raw video, if one was given. It applies only if the content of the file turns out
/// to be raw video.
fn clip(path: &Path, args: &ScoreArgs) -> Clip {
    let description =
        args.raw.description().map(|raw| RawFormat { frame_rate: args.frame_rate, ..RawFormat::from(raw) });
    Clip { path: path.to_owned(), description }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;
    use vmafx_job::{Feature, FrameSize, ScaleTo};
    use vmafx_scoring::engine::InstructionSet;
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
    #[case::by_position("ref.mkv a.mp4 b.mp4")]
    #[case::by_name("--distorted a.mp4 --reference ref.mkv --distorted b.mp4")]
    fn inputs_are_given_by_position_or_by_name(#[case] line: &str) {
        let request = request(line);
        assert_eq!(request.reference.path, PathBuf::from("ref.mkv"));
        let distorted: Vec<_> = request.distorted.iter().map(|clip| clip.path.to_str().unwrap()).collect();
        assert_eq!(distorted, ["a.mp4", "b.mp4"]);
    }

    #[test]
    fn every_file_gets_the_description_whatever_its_name() {
        let request = request("ref dis.mp4 --size 160x90 --pixel-format yuv420p10le --frame-rate 24");
        for clip in [&request.reference, &request.distorted[0]] {
            let description = clip.description.unwrap();
            assert_eq!(description.format.to_string(), "160x90 yuv420p 10 bit");
            assert_eq!(description.frame_rate, Some(24.0));
        }
    }

    #[test]
    fn a_description_is_optional() {
        let request = request("ref.yuv dis.mp4");
        assert_eq!(
            (request.reference, request.distorted),
            (Clip::new("ref.yuv"), vec![Clip::new("dis.mp4")])
        );
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

    #[rstest]
    #[case("--engine native --instruction-set scalar", Engine::Native(InstructionSet::Scalar))]
    #[case("--engine libvmaf --instruction-set scalar", Engine::Libvmaf)]
    fn an_instruction_set_limits_the_kernels_and_libvmaf(#[case] options: &str, #[case] engine: Engine) {
        let request = request(&format!("ref.mkv a.mp4 {options}"));
        assert_eq!((request.engine, request.cpu_mask), (engine, 63));
    }

    #[rstest]
    #[case::html("--report a.json --report b.html", true)]
    #[case::other_reports("--report a.json --report b.xml", false)]
    #[case::switched_off("--report b.html --no-pictures", false)]
    #[case::no_report("-o json", false)]
    fn pictures_are_made_for_html_reports_only(#[case] options: &str, #[case] pictures: bool) {
        assert_eq!(request(&format!("ref.mkv a.mp4 {options}")).pictures, pictures);
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
