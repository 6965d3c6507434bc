//! An input file as a clip, with the description of raw video if one is given.

use std::path::Path;

use vmafx_scoring::input::{Clip, RawFormat};

use super::args::ScoreArgs;

/// What is in a file is found out from its content later; the description counts if it turns out to be raw video.
pub(super) fn describe(path: &Path, args: &ScoreArgs) -> Clip {
    let description =
        args.raw.description().map(|raw| RawFormat { frame_rate: args.frame_rate, ..RawFormat::from(raw) });
    Clip { path: path.to_owned(), description }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ScoreArgs,
    }

    fn clips(line: &str) -> Vec<Clip> {
        let args = Line::parse_from(["score"].into_iter().chain(line.split_whitespace())).args;
        args.files.iter().map(|path| describe(path, &args)).collect()
    }

    #[test]
    fn the_description_goes_with_every_file_whatever_its_name() {
        for clip in clips("ref dis.mp4 --size 160x90 --pixel-format yuv420p10le --frame-rate 24") {
            let description = clip.description.unwrap();
            assert_eq!(description.format.to_string(), "160x90 yuv420p 10 bit");
            assert_eq!(description.frame_rate, Some(24.0));
        }
    }

    #[test]
    fn a_file_may_be_left_undescribed() {
        assert_eq!(clips("ref.yuv dis.mp4"), [Clip::new("ref.yuv"), Clip::new("dis.mp4")]);
    }
}
