//! How frames are chosen, paired and compared.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::MAX_FRAME_STEP;
use crate::{Feature, LengthMismatch, ScaleTo};

/// Options of the comparison. The defaults compare every frame at the size of the reference.
///
/// The comment of a field is its description in the custom resource, in the `OpenAPI` document and in `--help`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "cli", derive(clap::Args), command(next_help_heading = "Scoring"))]
#[serde(rename_all = "camelCase")]
pub struct ScoringOptions {
    /// Further metrics to compute in the same pass: psnr, ssim, ms-ssim, cambi, ciede, psnr-hvs. They appear in the report
    /// beside the score.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 16), extend("x-kubernetes-list-type" = "set")))]
    #[cfg_attr(feature = "cli", arg(long = "feature", value_name = "NAME", value_delimiter = ','))]
    pub features: Vec<Feature>,

    /// Score every n-th frame only. 1 scores all of them; larger steps are faster and less exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i32>", range(min = 1, max = 10000)))]
    #[cfg_attr(feature = "cli", arg(long = "subsample", value_name = "N"))]
    pub frame_step: Option<FrameStep>,

    /// The size at which the clips are compared: Reference (the default) scales the distorted clip to the reference's
    /// size, Distorted the other way round, Never fails the job when the sizes differ, and a size such as 1920x1080
    /// scales both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "SIZE"))]
    pub scale_to: Option<ScaleTo>,

    /// What to do when one clip has more frames than the other: Fail (the default) or score the Shortest common part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "cli",
        arg(
            long = "shortest",
            num_args = 0,
            default_missing_value = "Shortest",
            help = "Score the frames that both clips have, instead of refusing clips of different length"
        )
    )]
    pub length_mismatch: Option<LengthMismatch>,
}

impl ScoringOptions {
    /// Whether clips of different length are compared as far as the shorter one goes.
    pub fn scores_shortest(&self) -> bool {
        self.length_mismatch == Some(LengthMismatch::Shortest)
    }

    /// The distance between two scored frames; 1 when nothing is said.
    pub fn step(&self) -> u32 {
        self.frame_step.unwrap_or_default().get()
    }
}

/// The distance between two scored frames, from 1 to 10000. 0 is read as 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct FrameStep(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frame step must be between 1 and {MAX_FRAME_STEP}")]
pub struct FrameStepError;

impl FrameStep {
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Default for FrameStep {
    fn default() -> Self {
        Self(1)
    }
}

impl From<FrameStep> for u32 {
    fn from(step: FrameStep) -> Self {
        step.0
    }
}

impl TryFrom<u32> for FrameStep {
    type Error = FrameStepError;

    fn try_from(step: u32) -> Result<Self, Self::Error> {
        if step > MAX_FRAME_STEP { Err(FrameStepError) } else { Ok(Self(step.max(1))) }
    }
}

impl FromStr for FrameStep {
    type Err = FrameStepError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().filter(|step: &u32| *step > 0).ok_or(FrameStepError)?.try_into()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(0, Some(1))]
    #[case(1, Some(1))]
    #[case(10_000, Some(10_000))]
    #[case(10_001, None)]
    fn a_frame_step_has_bounds(#[case] number: u32, #[case] expected: Option<u32>) {
        assert_eq!(FrameStep::try_from(number).ok().map(FrameStep::get), expected);
    }

    #[test]
    fn nobody_types_a_frame_step_of_zero() {
        assert_eq!("0".parse::<FrameStep>(), Err(FrameStepError));
    }

    #[test]
    fn nothing_said_is_an_empty_document() {
        assert_eq!(serde_json::to_value(ScoringOptions::default()).unwrap(), json!({}));
        assert_eq!(serde_json::from_value::<ScoringOptions>(json!({})).unwrap(), ScoringOptions::default());
    }

    #[test]
    fn the_document_is_that_of_the_custom_resource() {
        let document = json!({
            "features": ["ms-ssim", "psnr-hvs"], "frameStep": 5, "scaleTo": "640x360", "lengthMismatch": "Shortest",
        });
        let options: ScoringOptions = serde_json::from_value(document.clone()).unwrap();
        assert_eq!((options.step(), options.scores_shortest()), (5, true));
        assert_eq!(serde_json::to_value(options).unwrap(), document);
    }
}
