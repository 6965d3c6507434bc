//! Reads scores and features from a finished pass.

use std::collections::BTreeMap;

use super::motion::MotionSeries;
use super::{EngineSession, FedPairs, FrameScores, LoadedModel, ModelSeries, index};
use crate::engine::EngineError;
use crate::engine::ffi::{Context, LibvmafError};
use crate::engine::native::MeasuredFeatures;
use crate::outcome::ConfidenceInterval;

impl EngineSession {
    pub(super) fn read_out(
        &mut self,
        fed: &FedPairs,
        (clip, clips): (usize, usize),
        motion: &[MotionSeries],
        native: &MeasuredFeatures,
    ) -> Result<FrameScores, EngineError> {
        let mut features: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut models: Vec<ModelSeries> = self.models.iter().map(ModelSeries::empty).collect();
        for (pair, (&frame, &position)) in fed.frames.iter().zip(&fed.positions).enumerate() {
            let index = index(pair, clip, clips).ok_or(EngineError::TooLong { frame })?;
            let missing = |name: &str| {
                let name = name.to_owned();
                move |source: LibvmafError| EngineError::Missing { frame, name, source }
            };
            let motion = motion.iter().map(|series| (&series.output, series.values[position as usize]));
            for (output, value) in motion.chain(native.of(index)) {
                self.main.import(&output.stored_name, value, index).map_err(missing(&output.log_name))?;
                features.entry(output.log_name.clone()).or_default().push(value);
            }
            for output in &self.outputs {
                let value =
                    self.main.feature(&output.stored_name, index).map_err(missing(&output.log_name))?;
                // Both a model and the request may ask for a feature.
                let values = features.entry(output.log_name.clone()).or_default();
                if values.len() == pair {
                    values.push(value);
                }
            }
            for (loaded, series) in self.models.iter().zip(&mut models) {
                let (score, interval) =
                    score(&mut self.main, loaded, index).map_err(missing(&loaded.name))?;
                if !score.is_finite() {
                    return Err(EngineError::NotFinite { model: loaded.name.clone(), frame, score });
                }
                series.scores.push(score);
                if let (Some(intervals), Some(interval)) = (&mut series.intervals, interval) {
                    intervals.push(interval);
                }
            }
        }
        Ok(FrameScores { frames: fed.frames.clone(), models, features })
    }
}

fn score(
    context: &mut Context,
    loaded: &LoadedModel,
    index: u32,
) -> Result<(f64, Option<ConfidenceInterval>), LibvmafError> {
    let score = context.score(&loaded.model, index)?;
    let interval = loaded
        .collection
        .as_ref()
        .map(|collection| context.interval(&loaded.model, collection, index))
        .transpose()?;
    Ok((score, interval))
}

impl ModelSeries {
    fn empty(loaded: &LoadedModel) -> Self {
        Self { scores: Vec::new(), intervals: loaded.collection.as_ref().map(|_| Vec::new()) }
    }
}
