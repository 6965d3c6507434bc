//! Labels of jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::service::request;

/// The quality that viewers gave the distorted clip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("if" = { "properties": { "scale": { "const": "mos" } }, "required": ["scale"] },
    "then" = { "properties": { "value": { "minimum": 1, "maximum": 5 } } }))]
pub struct LabelJob {
    /// The quality, in the unit of `scale`.
    #[schemars(range(min = 0, max = 100))]
    pub value: f64,
    /// Unit of `value`.
    #[serde(default)]
    pub scale: LabelScale,
}

/// Unit of a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LabelScale {
    /// 0 (worst) to 100 (best).
    #[default]
    Percent,
    /// Mean opinion score, 1 to 5.
    Mos,
}

impl From<LabelJob> for request::GroundTruth {
    fn from(label: LabelJob) -> Self {
        let scale = match label.scale {
            LabelScale::Percent => request::LabelScale::Percent,
            LabelScale::Mos => request::LabelScale::Mos,
        };
        Self { value: label.value, scale }
    }
}
