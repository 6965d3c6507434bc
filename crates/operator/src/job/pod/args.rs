//! What `vmafx-node run-once` is told: all of the spec that concerns the score.

use vmafx_api::VmafxJobSpec;
use vmafx_api::job::{LengthMismatch, PixelFormat};

use crate::job::request::feature;

/// Where the container leaves its result, which the kubelet then shows in the status of the Pod.
pub const RESULT: &str = "/dev/termination-log";

/// The arguments. Every value is in the same word as its name: one that begins with a dash stays a value.
pub fn args(spec: &VmafxJobSpec) -> Vec<String> {
    let options = spec.scoring.clone().unwrap_or_default();
    let mut all = vec![
        ("reference", spec.reference.clone()),
        ("distorted", spec.distorted.clone()),
        ("result", RESULT.to_owned()),
    ];
    all.extend(spec.model.clone().map(|model| ("model", model)));
    if let Some(input) = &spec.input {
        all.push(("width", input.width.to_string()));
        all.push(("height", input.height.to_string()));
        all.push(("pixel-format", pixel_format(input.pixel_format).to_owned()));
        all.push(("bit-depth", i32::from(input.bit_depth).to_string()));
    }
    all.extend(options.features.iter().map(|one| ("feature", feature(*one).to_owned())));
    all.extend(options.frame_step.map(|step| ("frame-step", step.to_string())));
    all.extend(options.scale_to.map(|size| ("scale-to", size.to_string())));
    all.extend(options.length_mismatch.map(|rule| ("length-mismatch", mismatch(rule).to_owned())));
    all.extend(spec.report_uri.clone().map(|uri| ("report-uri", uri)));
    let words = all.into_iter().map(|(name, value)| literal(&format!("--{name}={value}")));
    std::iter::once("run-once".to_owned()).chain(words).collect()
}

/// A text that the kubelet leaves as it is. `$(NAME)` would become the value of a variable, which may be a secret, and
/// an address is written by whoever wants clips scored.
pub fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

fn pixel_format(format: PixelFormat) -> &'static str {
    match format {
        PixelFormat::Yuv420p => "yuv420p",
        PixelFormat::Yuv422p => "yuv422p",
        PixelFormat::Yuv444p => "yuv444p",
    }
}

fn mismatch(rule: LengthMismatch) -> &'static str {
    match rule {
        LengthMismatch::Fail => "Fail",
        LengthMismatch::Shortest => "Shortest",
    }
}
