//! The input files as clips: which of them are raw, and what is in those.

use std::path::{Path, PathBuf};

use vmafx_scoring::input::{Clip, RawFormat};

use super::args::ScoreArgs;

/// Endings of files that hold bare samples.
const RAW_ENDINGS: [&str; 3] = ["yuv", "raw", "i420"];

/// Inputs that contradict the options.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClipError {
    /// A raw file, and nobody said what is in it.
    #[error(
        "{}: raw video does not say what it is; add its size and pixel format, such as --size 1920x1080 \
         --pixel-format yuv420p", path.display()
    )]
    NotDescribed {
        /// The file.
        path: PathBuf,
    },
    /// A description, and nothing raw.
    #[error(
        "--size and --pixel-format describe raw files (.yuv, .raw, .i420), and none is given; leave them out"
    )]
    NothingRaw,
}

/// The clips, reference first. What is said about raw files goes to all files with such an ending and to no other.
pub(super) fn describe<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
    args: &ScoreArgs,
) -> Result<Vec<Clip>, ClipError> {
    let described =
        args.raw.description().map(|raw| RawFormat { frame_rate: args.frame_rate, ..RawFormat::from(raw) });
    let clips: Vec<Clip> = paths
        .into_iter()
        .map(|path| match (is_raw(path), described) {
            (false, _) => Ok(Clip::new(path)),
            (true, Some(raw)) => Ok(Clip::raw(path, raw)),
            (true, None) => Err(ClipError::NotDescribed { path: path.clone() }),
        })
        .collect::<Result<_, _>>()?;
    if described.is_some() && clips.iter().all(|clip| clip.raw.is_none()) {
        return Err(ClipError::NothingRaw);
    }
    Ok(clips)
}

fn is_raw(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| RAW_ENDINGS.iter().any(|raw| ending.eq_ignore_ascii_case(raw)))
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

    fn clips(line: &str) -> Result<Vec<Clip>, ClipError> {
        let args = Line::parse_from(["score"].into_iter().chain(line.split_whitespace())).args;
        describe(&args.files, &args)
    }

    #[test]
    fn the_description_is_for_raw_files_only() {
        let clips =
            clips("ref.YUV dis.mp4 --size 160x90 --pixel-format yuv420p10le --frame-rate 24").unwrap();
        let raw = clips[0].raw.unwrap();
        assert_eq!((raw.format.to_string().as_str(), raw.frame_rate), ("160x90 yuv420p 10 bit", Some(24.0)));
        assert_eq!(clips[1], Clip::new("dis.mp4"));
    }

    #[test]
    fn a_raw_file_must_be_described() {
        let error = clips("ref.yuv dis.mp4").unwrap_err();
        assert_eq!(error, ClipError::NotDescribed { path: "ref.yuv".into() });
        assert!(error.to_string().contains("--size 1920x1080 --pixel-format yuv420p"));
    }

    #[test]
    fn a_description_of_nothing_is_a_mistake() {
        assert_eq!(clips("ref.mp4 dis.mp4 --size 2x2 --pixel-format yuv420p"), Err(ClipError::NothingRaw));
    }
}
