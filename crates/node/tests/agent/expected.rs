//! The score of a pair by `vmafx-scoring`, without a node.

use std::path::Path;

use tokio_util::sync::CancellationToken;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_scoring::engine::models::ModelChoice;
use vmafx_scoring::input::{Clip, RawFormat, Tools};
use vmafx_scoring::picture::PictureFormat;
use vmafx_scoring::score::{Request, run};

/// The score of two headerless clips of 160x90.
pub(crate) fn expected(reference: &Path, distorted: &Path) -> f64 {
    let format =
        PictureFormat { width: 160, height: 90, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
    let clip = |path: &Path| Clip::described(path.to_owned(), RawFormat { format, frame_rate: None });
    let request = Request {
        models: vec![ModelChoice::Named("vmaf_v0.6.1".into())],
        ..Request::new(clip(reference), vec![clip(distorted)])
    };
    let outcomes = run(&request, &Tools::from_process_env(), &(), &CancellationToken::new()).unwrap();
    vmafx_scoring::report::ScoreSummary::of(&outcomes[0]).unwrap().models[0].pooled.mean
}
