//! Refuses tasks that the command cannot score.

use vmafx_job::{Failure, FailureReason, FrameSize, ScaleTo};
use vmafx_scoring::engine::models;
use vmafx_scoring::input::{self, Probe, Tools};
use vmafx_scoring::picture::PictureFormat;

use crate::task::{ClipFile, Task};
use crate::worker::{self, PathRedactor};

/// Facts about a task that the command can score.
#[derive(Debug)]
pub(super) struct CheckedTask {
    pub(super) model: models::Model,
    pub(super) size: FrameSize,
    /// Format of both clips if they have no header.
    pub(super) raw: Option<PictureFormat>,
}

pub(super) fn check(task: &Task, tools: &Tools, redactor: &PathRedactor) -> Result<CheckedTask, Failure> {
    let reference = probe(&task.reference, tools, redactor)?;
    let distorted = probe(&task.distorted, tools, redactor)?;
    let differ = |message| Failure::new(FailureReason::ClipsDiffer, message);
    if is_raw(&reference) != is_raw(&distorted) {
        let message = "an external engine compares two Y4M clips, or two headerless clips of one format";
        return Err(Failure::new(FailureReason::OptionsInvalid, message));
    }
    let format = reference.format;
    let size = FrameSize { width: format.width, height: format.height };
    let scales = matches!(task.options.scale_to, Some(ScaleTo::Size(wanted)) if wanted != size);
    if format != distorted.format || scales {
        return Err(differ(format!(
            "{} is {format} and {} is {}: an external engine neither scales nor converts, so give it clips of one format",
            task.reference.name, task.distorted.name, distorted.format
        )));
    }
    if let (Some(ours), Some(theirs)) = (reference.frames, distorted.frames)
        && ours != theirs
        && !task.options.scores_shortest()
    {
        return Err(differ(format!(
            "{} has {ours} frames and {} has {theirs}; set lengthMismatch to Shortest to compare the common part",
            task.reference.name, task.distorted.name
        )));
    }
    let model = models::Model::find(&worker::model(&task.model), format, reference.frame_rate)
        .map_err(|error| worker::model_failure(&error, redactor))?;
    Ok(CheckedTask { model, size, raw: is_raw(&reference).then_some(format) })
}

fn is_raw(probe: &Probe) -> bool {
    probe.codec == "yuv"
}

fn probe(clip: &ClipFile, tools: &Tools, redactor: &PathRedactor) -> Result<Probe, Failure> {
    let probe =
        input::probe(&worker::clip(clip), tools).map_err(|error| worker::input_failure(&error, redactor))?;
    if !is_raw(&probe) && probe.codec != "y4m" {
        let message = format!(
            "{} is {}: an external engine reads Y4M and headerless clips only",
            clip.name, probe.codec
        );
        return Err(Failure::new(FailureReason::InputInvalid, message));
    }
    Ok(probe)
}
