//! From luminance to thresholds in samples of 10 bits and limited range.

/// The transfer function of the display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eotf {
    #[default]
    Bt1886,
    Pq,
}

const DARKEST: u16 = 64;
const BRIGHTEST: u16 = 940;
const LARGEST_SAMPLE: u16 = 1023;

impl Eotf {
    /// Candela per square metre of a sample.
    fn luminance(self, sample: u16) -> f64 {
        let above_black = sample.clamp(DARKEST, BRIGHTEST) - DARKEST;
        let signal = f64::from(above_black) / f64::from(BRIGHTEST - DARKEST);
        match self {
            Self::Bt1886 => bt1886(signal),
            Self::Pq => pq(signal),
        }
    }
}

fn bt1886(signal: f64) -> f64 {
    const GAMMA: f64 = 2.4;
    let white = 300.0_f64.powf(1.0 / GAMMA);
    let black = 0.01_f64.powf(1.0 / GAMMA);
    let gain = (white - black).powf(GAMMA);
    let lift = black / (white - black);
    gain * (signal + lift).max(0.0).powf(GAMMA)
}

fn pq(signal: f64) -> f64 {
    let root = signal.powf(1.0 / 78.843_75);
    let above_black = (root - 0.835_937_5).max(0.0);
    10_000.0 * (above_black / (18.851_562_5 - 18.687_5 * root)).powf(1.0 / 0.159_301_757_812_5)
}

/// How a step of luma at a sample relates to the largest sample where the step is visible.
enum Visibility {
    Above,
    Largest,
    Below,
}

fn visibility(eotf: Eotf, sample: u16, step: u16, threshold: f64) -> Visibility {
    let visible = |sample: u16| {
        let mean = eotf.luminance(sample);
        eotf.luminance(sample + step) - mean > threshold * mean
    };
    match (visible(sample), visible(sample + 1)) {
        (false, _) => Visibility::Above,
        (true, true) => Visibility::Below,
        (true, false) => Visibility::Largest,
    }
}

/// The largest sample at which a step is visible, since its luminance is above `threshold` of the sample's.
///
/// The search is a bisection, as in libvmaf, so that it finds the same one of several with [`Eotf::Pq`].
pub(super) fn largest_visible(eotf: Eotf, step: u16, threshold: f64) -> u16 {
    let (mut low, mut high) = (DARKEST, BRIGHTEST - step - 1);
    match visibility(eotf, low, step, threshold) {
        Visibility::Above => return 0,
        Visibility::Largest => return low,
        Visibility::Below => {}
    }
    match visibility(eotf, high, step, threshold) {
        Visibility::Below => return LARGEST_SAMPLE,
        Visibility::Largest => return high,
        Visibility::Above => {}
    }
    // `low` is below and `high` above, so the interval shrinks to two neighbours at last, of which one is the largest.
    loop {
        let middle = u16::midpoint(low, high);
        match visibility(eotf, middle, step, threshold) {
            Visibility::Above => high = middle,
            Visibility::Below => low = middle,
            Visibility::Largest => return middle,
        }
    }
}

/// The smallest sample of at least this luminance, 0 if every sample is, `None` if no sample is.
pub(super) fn smallest_of_luminance(eotf: Eotf, luminance: f64) -> Option<u16> {
    let sample = (DARKEST..=BRIGHTEST).find(|&sample| eotf.luminance(sample) >= luminance)?;
    Some(if sample == DARKEST { 0 } else { sample })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_steps_are_visible_at_larger_samples() {
        let largest: Vec<u16> = (1..=4).map(|step| largest_visible(Eotf::Bt1886, step, 0.019)).collect();
        assert!(largest.is_sorted() && largest[0] > DARKEST, "{largest:?}");
        assert!(matches!(visibility(Eotf::Bt1886, largest[3], 4, 0.019), Visibility::Largest));
    }

    #[test]
    fn no_sample_is_brighter_than_the_display() {
        assert_eq!(smallest_of_luminance(Eotf::Bt1886, 0.0), Some(0));
        assert_eq!(smallest_of_luminance(Eotf::Bt1886, 301.0), None);
    }
}
