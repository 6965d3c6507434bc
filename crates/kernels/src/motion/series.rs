//! What is derived from the differences between frames at the end of a clip.

use super::MotionOptions;

/// What libvmaf emits for one frame at the end of the clip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MotionScores {
    /// `VMAF_integer_feature_motion2_score`
    pub motion2: f64,
    /// `VMAF_integer_feature_motion3_score`
    pub motion3: f64,
}

/// The differences of the frames of a clip. They do not depend on where the clip ends, and may come from elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct MotionSeries {
    options: MotionOptions,
    sads: Vec<f64>,
}

impl MotionSeries {
    pub fn new(options: MotionOptions) -> Self {
        Self { options, sads: Vec::new() }
    }

    pub fn push(&mut self, sad: f64) {
        self.sads.push(sad);
    }

    pub fn len(&self) -> usize {
        self.sads.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sads.is_empty()
    }

    /// `VMAF_integer_feature_motion_sad_score` of each frame.
    pub fn sads(&self) -> &[f64] {
        &self.sads
    }

    fn blended(&self, motion: f64) -> f64 {
        let MotionOptions { blend_factor, blend_offset, max_value, .. } = self.options;
        let limited = if blend_offset < motion { blend_offset } else { motion };
        let blended = motion * blend_factor + (1.0 - blend_factor) * limited;
        if blended < max_value { blended } else { max_value }
    }

    /// The values of the first `length` frames, or of all if there are fewer, as if the clip ended there.
    pub fn scores(&self, length: usize) -> Vec<MotionScores> {
        let sads = &self.sads[..length.min(self.sads.len())];
        let distance = self.options.distance();
        let start = sads.get(distance).map_or(0.0, |&sad| self.blended(sad));
        let mut previous = start;
        let scores = sads.iter().enumerate().map(|(index, &sad)| {
            if index < distance {
                return MotionScores { motion2: 0.0, motion3: start };
            }
            let earlier = (index + 1).checked_sub(distance).filter(|earlier| *earlier >= distance);
            let motion2 = match (sads.get(index + 1), earlier.map(|earlier| sads[earlier])) {
                (None, _) => sad,
                (Some(&next), Some(earlier)) if earlier < next => earlier,
                (Some(&next), _) => next,
            };
            let blended = self.blended(motion2);
            let motion3 =
                if self.options.moving_average { f64::midpoint(blended, previous) } else { blended };
            previous = blended;
            MotionScores { motion2, motion3 }
        });
        scores.collect()
    }
}
