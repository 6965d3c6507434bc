//! Takes scores and features out of a finished pass.

use std::collections::BTreeMap;

use super::motion::Series;
use super::{Fed, Loaded, ModelSeries, Scores, Session, index};
use crate::engine::EngineError;
use crate::engine::ffi::{Context, Failure};
use crate::outcome::Interval;

impl Session {
    /// The scores of one clip of several.
    pub(super) fn read_out(
        &mut self,
        fed: &Fed,
        (clip, clips): (usize, usize),
        motion: &[Series],
    ) -> Result<Scores, EngineError> {
        let mut features: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut models: Vec<ModelSeries> = self.models.iter().map(ModelSeries::empty).collect();
        for (pair, (&frame, &place)) in fed.frames.iter().zip(&fed.places).enumerate() {
            let index = index(pair, clip, clips).ok_or(EngineError::TooLong { frame })?;
            let missing = |name: &str| {
                let name = name.to_owned();
                move |source: Failure| EngineError::Missing { frame, name, source }
            };
            for series in motion {
                let value = series.values[place as usize];
                self.main.import(&series.output.kept, value, index).map_err(missing(&series.output.shown))?;
                features.entry(series.output.shown.clone()).or_default().push(value);
            }
            for output in &self.outputs {
                let value = self.main.feature(&output.kept, index).map_err(missing(&output.shown))?;
                // A name can be asked for twice, as an extra and by a model.
                let values = features.entry(output.shown.clone()).or_default();
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
        Ok(Scores { frames: fed.frames.clone(), models, features })
    }
}

fn score(context: &mut Context, loaded: &Loaded, index: u32) -> Result<(f64, Option<Interval>), Failure> {
    let score = context.score(&loaded.model, index)?;
    let interval = loaded
        .collection
        .as_ref()
        .map(|collection| context.interval(&loaded.model, collection, index))
        .transpose()?;
    Ok((score, interval))
}

impl ModelSeries {
    fn empty(loaded: &Loaded) -> Self {
        Self { scores: Vec::new(), intervals: loaded.collection.as_ref().map(|_| Vec::new()) }
    }
}
