//! Converts a task into a request of `vmafx-scoring`. Pure, and the only place of this crate that knows both spellings.

use vmafx_scoring::engine::models::ModelChoice;
use vmafx_scoring::input::Clip;
use vmafx_scoring::score::Request;

use crate::task::{ClipFile, ModelSource, Task};

pub(super) fn request(task: &Task) -> Request {
    let mut request = Request::new(clip(&task.reference), vec![clip(&task.distorted)]);
    request.models = vec![model(&task.model)];
    request.threads = task.threads.max(1);
    request.engine = task.features.into();
    request.options.clone_from(&task.options);
    request
}

pub(crate) fn clip(clip: &ClipFile) -> Clip {
    match clip.raw {
        None => Clip::new(&clip.path),
        Some(raw) => Clip::described(&clip.path, raw.into()),
    }
}

pub(crate) fn model(model: &ModelSource) -> ModelChoice {
    match model {
        ModelSource::Auto => ModelChoice::Auto,
        ModelSource::BuiltIn(name) => ModelChoice::Named(name.clone()),
        ModelSource::File { path, .. } => ModelChoice::File(path.clone()),
    }
}
