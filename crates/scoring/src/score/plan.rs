//! Decides in which format clips are compared, and what to warn of. Pure.

use std::path::PathBuf;

use vmafx_job::ScaleTo;

use super::{Request, ScoreError};
use crate::input::{Clip, Probe};
use crate::outcome::Warning;
use crate::picture::PictureFormat;

/// What the plan depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipProperties {
    pub path: PathBuf,
    pub format: PictureFormat,
    /// If the file says it.
    pub transfer: Option<String>,
    /// If the file says it.
    pub full_range: Option<bool>,
    /// The decoder's pixel format, if it cannot be scored without conversion.
    pub converted_from: Option<String>,
}

impl ClipProperties {
    pub fn new(clip: &Clip, probe: &Probe) -> Self {
        Self {
            path: clip.path.clone(),
            format: probe.format,
            transfer: probe.transfer.clone(),
            full_range: probe.full_range,
            converted_from: probe.converted_from.clone(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScoringPlan {
    /// In the order of the distorted clips.
    pub comparisons: Vec<Comparison>,
    /// Comparisons in the same format; each group is one pass over the reference.
    pub groups: Vec<ComparisonGroup>,
}

/// How one distorted clip is compared with the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub format: PictureFormat,
    /// Whether the reference or the distorted clip is scaled.
    pub scaled: bool,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonGroup {
    pub format: PictureFormat,
    /// Indices of the distorted clips.
    pub clips: Vec<usize>,
}

pub fn plan(
    request: &Request,
    reference: &ClipProperties,
    distorted: &[ClipProperties],
) -> Result<ScoringPlan, ScoreError> {
    if distorted.is_empty() {
        return Err(ScoreError::NothingDistorted { reference: reference.path.clone() });
    }
    for (name, value) in [("threads", request.threads), ("chunks", request.chunks)] {
        if value == 0 {
            return Err(ScoreError::Zero(name));
        }
    }
    let comparisons =
        distorted.iter().map(|clip| compare(request, reference, clip)).collect::<Result<Vec<_>, _>>()?;
    let mut groups: Vec<ComparisonGroup> = Vec::new();
    for (index, comparison) in comparisons.iter().enumerate() {
        match groups.iter_mut().find(|group| group.format == comparison.format) {
            Some(group) => group.clips.push(index),
            None => groups.push(ComparisonGroup { format: comparison.format, clips: vec![index] }),
        }
    }
    Ok(ScoringPlan { comparisons, groups })
}

fn compare(
    request: &Request,
    reference: &ClipProperties,
    distorted: &ClipProperties,
) -> Result<Comparison, ScoreError> {
    let (original, encoded) = (reference.format, distorted.format);
    let (width, height) = match request.options.scale_to.unwrap_or_default() {
        ScaleTo::Reference => (original.width, original.height),
        ScaleTo::Distorted => (encoded.width, encoded.height),
        ScaleTo::Size(size) => (size.width, size.height),
        ScaleTo::Never if (original.width, original.height) == (encoded.width, encoded.height) => {
            (original.width, original.height)
        }
        ScaleTo::Never => {
            return Err(ScoreError::SizesDiffer {
                reference: reference.path.clone(),
                reference_format: original,
                distorted: distorted.path.clone(),
                distorted_format: encoded,
            });
        }
    };
    // The higher bit depth is used, because samples can be shifted up without loss but not down.
    let format =
        PictureFormat { width, height, chroma: original.chroma, depth: original.depth.max(encoded.depth) };
    let mut warnings = Vec::new();
    let mut scaled = false;
    for clip in [reference, distorted] {
        if (clip.format.width, clip.format.height) != (width, height) {
            scaled = true;
            warnings.push(Warning::Scaled {
                from: format!("{}x{}", clip.format.width, clip.format.height),
                to: format!("{width}x{height}"),
            });
        }
        if let Some(from) = &clip.converted_from {
            warnings.push(Warning::ChromaConverted { from: from.clone(), to: clip.format.to_string() });
        }
    }
    if encoded.chroma != format.chroma {
        warnings.push(Warning::ChromaConverted { from: encoded.to_string(), to: format.to_string() });
    }
    if let (Some(reference_full), Some(distorted_full)) = (reference.full_range, distorted.full_range)
        && reference_full != distorted_full
    {
        warnings.push(Warning::RangesDiffer { reference_full });
    }
    let step = request.step();
    if step.is_multiple_of(2) {
        warnings.push(Warning::EvenStep { step });
    }
    Ok(Comparison { format, scaled, warnings })
}

/// Transfer functions of HDR video. All models so far were trained with SDR.
const HDR_TRANSFERS: [&str; 2] = ["smpte2084", "arib-std-b67"];

/// One warning per model if a clip is HDR.
pub fn hdr_warnings<'a>(
    models: impl Iterator<Item = &'a str>,
    reference: &ClipProperties,
    distorted: &ClipProperties,
) -> Vec<Warning> {
    let transfers = [&reference.transfer, &distorted.transfer];
    let hdr = transfers.into_iter().flatten().find(|transfer| HDR_TRANSFERS.contains(&transfer.as_str()));
    let Some(transfer) = hdr else { return Vec::new() };
    models
        .map(|model| Warning::HdrWithSdrModel { transfer: transfer.clone(), model: model.to_owned() })
        .collect()
}

/// Below this a frame counts as near zero.
const NEAR_ZERO: f64 = 5.0;

/// Warns when more than one frame in a hundred scores close to zero.
pub fn near_zero_warning(model: &str, scores: &[f64]) -> Option<Warning> {
    let frames = scores.iter().filter(|score| **score < NEAR_ZERO).count();
    (frames * 100 > scores.len()).then(|| Warning::NearZeroFrames {
        model: model.to_owned(),
        frames: frames as u64,
        of: scores.len() as u64,
    })
}

/// Threads of a decoder. Decoding is about a tenth of the work, so one decoder thread keeps several scoring threads busy, and
/// more would take CPU time from them.
pub fn decoder_threads(threads: u32) -> u32 {
    (threads / 4).max(1)
}

#[cfg(test)]
mod tests {
    use vmafx_job::{BitDepth, PixelFormat};

    use super::*;

    fn clip(width: u32, height: u32, chroma: PixelFormat, depth: BitDepth) -> ClipProperties {
        let format = PictureFormat { width, height, chroma, depth };
        ClipProperties { path: "clip".into(), format, transfer: None, full_range: None, converted_from: None }
    }

    fn request() -> Request {
        Request::new(Clip::new("reference"), vec![Clip::new("distorted")])
    }

    #[test]
    fn the_higher_bit_depth_and_the_size_and_chroma_of_the_reference_are_used() {
        let reference = clip(1920, 1080, PixelFormat::Yuv422p, BitDepth::Eight);
        let distorted = clip(960, 540, PixelFormat::Yuv420p, BitDepth::Ten);
        let plan = plan(&request(), &reference, &[distorted]).unwrap();
        let comparison = &plan.comparisons[0];
        let expected =
            PictureFormat { width: 1920, height: 1080, chroma: PixelFormat::Yuv422p, depth: BitDepth::Ten };
        assert_eq!(comparison.format, expected);
        assert!(comparison.scaled);
        assert!(
            matches!(&comparison.warnings[0], Warning::Scaled { from, to } if from == "960x540" && to == "1920x1080")
        );
        assert!(matches!(comparison.warnings[1], Warning::ChromaConverted { .. }));
    }

    #[test]
    fn different_sizes_are_refused_when_scaling_is_off() {
        let mut request = request();
        request.options.scale_to = Some(ScaleTo::Never);
        let reference = clip(1920, 1080, PixelFormat::Yuv420p, BitDepth::Eight);
        let distorted = clip(960, 540, PixelFormat::Yuv420p, BitDepth::Eight);
        assert!(plan(&request, &reference, std::slice::from_ref(&reference)).is_ok());
        assert!(matches!(plan(&request, &reference, &[distorted]), Err(ScoreError::SizesDiffer { .. })));
    }

    #[test]
    fn only_clips_compared_in_the_same_format_share_a_pass() {
        let reference = clip(640, 360, PixelFormat::Yuv420p, BitDepth::Eight);
        let eight = clip(320, 180, PixelFormat::Yuv420p, BitDepth::Eight);
        let ten = clip(640, 360, PixelFormat::Yuv420p, BitDepth::Ten);
        let plan = plan(&request(), &reference, &[eight, ten, reference.clone()]).unwrap();
        let clips: Vec<_> = plan.groups.iter().map(|group| group.clips.clone()).collect();
        assert_eq!(clips, [vec![0, 2], vec![1]]);
    }

    #[test]
    fn an_even_step_is_warned_of_and_no_chunks_are_refused() {
        let reference = clip(640, 360, PixelFormat::Yuv420p, BitDepth::Eight);
        let mut request = request();
        request.options.frame_step = Some(2.try_into().unwrap());
        let even = plan(&request, &reference, std::slice::from_ref(&reference)).unwrap();
        assert_eq!(even.comparisons[0].warnings, [Warning::EvenStep { step: 2 }]);
        request.chunks = 0;
        assert!(matches!(
            plan(&request, &reference, std::slice::from_ref(&reference)),
            Err(ScoreError::Zero(_))
        ));
    }

    #[test]
    fn different_ranges_are_warned_of_if_both_are_known() {
        let unknown = clip(640, 360, PixelFormat::Yuv420p, BitDepth::Eight);
        let of = |full_range| ClipProperties { full_range, ..unknown.clone() };
        for (reference, distorted, warned) in [
            (Some(true), Some(false), Some(true)),
            (Some(false), Some(true), Some(false)),
            (Some(true), Some(true), None),
            (Some(true), None, None),
            (None, Some(false), None),
        ] {
            let plan = plan(&request(), &of(reference), &[of(distorted)]).unwrap();
            let expected = warned.map(|reference_full| Warning::RangesDiffer { reference_full });
            assert_eq!(plan.comparisons[0].warnings, Vec::from_iter(expected));
        }
    }

    #[test]
    fn hdr_is_warned_of_for_every_model() {
        let reference = clip(640, 360, PixelFormat::Yuv420p, BitDepth::Ten);
        let hdr = ClipProperties { transfer: Some("smpte2084".to_owned()), ..reference.clone() };
        assert_eq!(hdr_warnings(["a", "b"].into_iter(), &reference, &hdr).len(), 2);
        assert_eq!(hdr_warnings(["a"].into_iter(), &reference, &reference), []);
    }

    #[test]
    fn more_than_one_frame_in_a_hundred_near_zero_is_warned_of() {
        let mut scores = vec![90.0; 100];
        scores[3] = 0.0;
        assert_eq!(near_zero_warning("m", &scores), None);
        scores[4] = 4.9;
        assert!(matches!(
            near_zero_warning("m", &scores),
            Some(Warning::NearZeroFrames { frames: 2, of: 100, .. })
        ));
    }
}
