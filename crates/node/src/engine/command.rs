//! The command line. Pure.

use std::ffi::OsString;

use vmafx_job::Feature;

use crate::task::{ExternalEngine, Task};

/// A model as the command names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model<'a> {
    /// A file in its working directory, of a name without `:` and `=`.
    File(&'static str),
    /// One that it carries.
    BuiltIn(&'a str),
}

/// Everything after the program's name.
pub(super) fn arguments(
    task: &Task,
    engine: &ExternalEngine,
    model: Model<'_>,
    output: &str,
) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![
        "-r".into(),
        task.reference.path.clone().into(),
        "-d".into(),
        task.distorted.path.clone().into(),
        "-m".into(),
        match model {
            Model::File(name) => format!("path={name}"),
            Model::BuiltIn(name) => format!("version={name}"),
        }
        .into(),
        "-o".into(),
        output.into(),
        "--json".into(),
        "--backend".into(),
        engine.backend.clone().into(),
        "--threads".into(),
        task.threads.max(1).to_string().into(),
    ];
    if task.frame_step > 1 {
        line.extend(["--subsample".into(), task.frame_step.to_string().into()]);
    }
    for name in &task.features {
        line.extend(["--feature".into(), extractor(name).into()]);
    }
    if let Some(raw) = &task.reference.raw {
        let chroma = raw.pixel_format.trim_start_matches("yuv").trim_end_matches('p');
        let shape = [
            ("--width", raw.width.to_string()),
            ("--height", raw.height.to_string()),
            ("--pixel_format", chroma.to_owned()),
            ("--bitdepth", raw.bit_depth.to_string()),
        ];
        for (option, value) in shape {
            line.extend([option.into(), value.into()]);
        }
    }
    line
}

/// The command's name for a feature.
fn extractor(name: &str) -> &str {
    match name.parse() {
        Ok(Feature::Psnr) => "psnr",
        Ok(Feature::Ssim) => "float_ssim",
        Ok(Feature::MsSsim) => "float_ms_ssim",
        Ok(Feature::Cambi) => "cambi",
        Ok(Feature::Ciede) => "ciede",
        Ok(Feature::PsnrHvs) => "psnr_hvs",
        Err(_) => name,
    }
}
