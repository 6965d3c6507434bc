//! The command line. Pure.

use std::ffi::OsString;

use vmafx_job::{Feature, PixelFormat};
use vmafx_scoring::picture::PictureFormat;

use crate::task::{ExternalEngine, Task};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelArgument<'a> {
    /// A file in the working directory, with a name without `:` and `=`.
    File(&'static str),
    BuiltIn(&'a str),
}

/// The arguments after the program's name; `raw` is the format of clips without a header.
pub(super) fn arguments(
    task: &Task,
    engine: &ExternalEngine,
    model: ModelArgument<'_>,
    raw: Option<PictureFormat>,
    output: &str,
) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![
        "-r".into(),
        task.reference.path.clone().into(),
        "-d".into(),
        task.distorted.path.clone().into(),
        "-m".into(),
        match model {
            ModelArgument::File(name) => format!("path={name}"),
            ModelArgument::BuiltIn(name) => format!("version={name}"),
        }
        .into(),
        "-o".into(),
        output.into(),
        "--json".into(),
        "--backend".into(),
        engine.backend.name().into(),
        "--threads".into(),
        task.threads.max(1).to_string().into(),
    ];
    if task.options.step() > 1 {
        line.extend(["--subsample".into(), task.options.step().to_string().into()]);
    }
    for feature in &task.options.features {
        line.extend(["--feature".into(), extractor(*feature).into()]);
    }
    if let Some(raw) = raw {
        let chroma = match raw.chroma {
            PixelFormat::Yuv420p => "420",
            PixelFormat::Yuv422p => "422",
            PixelFormat::Yuv444p => "444",
        };
        let described = [
            ("--width", raw.width.to_string()),
            ("--height", raw.height.to_string()),
            ("--pixel_format", chroma.to_owned()),
            ("--bitdepth", raw.depth.bits().to_string()),
        ];
        for (option, value) in described {
            line.extend([option.into(), value.into()]);
        }
    }
    line
}

/// The command's name for a feature.
const fn extractor(feature: Feature) -> &'static str {
    match feature {
        Feature::Psnr => "psnr",
        Feature::Ssim => "float_ssim",
        Feature::MsSsim => "float_ms_ssim",
        Feature::Cambi => "cambi",
        Feature::Ciede => "ciede",
        Feature::PsnrHvs => "psnr_hvs",
    }
}
