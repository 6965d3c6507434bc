//! What the command can be given.

use vmafx_job::Feature;
use vmafx_scoring::engine::models;
use vmafx_scoring::input::{self, Probe, Tools};

use crate::failure::{Failure, Reason};
use crate::task::{Input, ScaleTo, Task};
use crate::worker::{self, Names};

/// What was found out about a task that the command can do.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) model: models::Model,
    pub(super) size: (u32, u32),
}

pub(super) fn check(task: &Task, tools: &Tools, names: &Names) -> Result<Found, Failure> {
    for name in &task.features {
        if name.parse::<Feature>().is_err() {
            return Err(Failure::new(Reason::OptionsInvalid, format!("there is no feature {name:?}")));
        }
    }
    let reference = probe(&task.reference, tools, names)?;
    let distorted = probe(&task.distorted, tools, names)?;
    if task.reference.raw != task.distorted.raw {
        let message = "an external engine reads two raw clips of one shape, or two Y4M clips".to_owned();
        return Err(Failure::new(Reason::OptionsInvalid, message));
    }
    let (ours, theirs) = (reference.format, distorted.format);
    let size = (ours.width, ours.height);
    let wanted = match task.scale_to {
        ScaleTo::Size { width, height } => (width, height),
        ScaleTo::Reference | ScaleTo::Distorted | ScaleTo::Never => size,
    };
    if ours != theirs || wanted != size {
        let message = format!(
            "{} is {ours} and {} is {theirs}: an external engine scales and converts nothing, so give clips of one shape",
            task.reference.name, task.distorted.name
        );
        return Err(Failure::new(Reason::ClipsDiffer, message));
    }
    if let (Some(ours), Some(theirs)) = (reference.frames, distorted.frames)
        && ours != theirs
        && !task.shortest
    {
        let message = format!(
            "{} has {ours} frames and {} has {theirs}; ask for the shortest to compare the common part",
            task.reference.name, task.distorted.name
        );
        return Err(Failure::new(Reason::ClipsDiffer, message));
    }
    let model = models::Model::find(&worker::model(&task.model), ours, reference.frame_rate)
        .map_err(|error| worker::model_failure(&error, names))?;
    Ok(Found { model, size })
}

fn probe(clip: &Input, tools: &Tools, names: &Names) -> Result<Probe, Failure> {
    let probe =
        input::probe(&worker::clip(clip)?, tools).map_err(|error| worker::input_failure(&error, names))?;
    if !["y4m", "yuv"].contains(&probe.codec.as_str()) {
        let message =
            format!("{} is {}: an external engine reads Y4M and raw pictures only", clip.name, probe.codec);
        return Err(Failure::new(Reason::InputInvalid, message));
    }
    Ok(probe)
}
