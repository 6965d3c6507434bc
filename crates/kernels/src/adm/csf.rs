//! Contrast sensitivity: the weight of each scale and orientation.

use super::AdmError;
use super::geometry::SCALES;

/// Model of the eye's sensitivity to contrast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContrastSensitivity {
    /// Watson's detection thresholds for wavelets, for any viewing distance. `adm_csf_mode=0`.
    #[default]
    Watson,
    /// A blend of Barten's and Watson's models, tabulated for some displays. `adm_csf_mode=2`.
    BartenWatson,
}

/// Weights of one scale: of the horizontal and vertical band, and of the diagonal one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weights {
    pub(super) straight: f32,
    pub(super) diagonal: f32,
}

impl Weights {
    /// For the bands in the order horizontal, vertical, diagonal.
    pub(super) fn bands(self) -> [f32; 3] {
        [self.straight, self.straight, self.diagonal]
    }
}

impl ContrastSensitivity {
    pub(super) fn weights(
        self,
        view_distance: f64,
        display_height: u32,
    ) -> Result<[Weights; SCALES], AdmError> {
        match self {
            Self::Watson => Ok(std::array::from_fn(|scale| watson(scale, view_distance, display_height))),
            Self::BartenWatson => blended(view_distance, display_height)
                .ok_or(AdmError::UnknownDisplay { view_distance, display_height }),
        }
    }
}

/// Watson et al., "Visibility of Wavelet Quantization Noise", 1997, table IV for luminance: a, k, f0, and g of the straight
/// and of the diagonal bands.
const THRESHOLD: f32 = 0.495;
const SLOPE: f32 = 0.466;
const FREQUENCY: f32 = 0.401;
const ORIENTATION: [f32; 2] = [1.0, 0.534];
/// Amplitudes of the basis functions of the straight and of the diagonal bands, table V.
const AMPLITUDES: [[f32; 2]; SCALES] =
    [[0.672_34, 0.727_09], [0.413_17, 0.494_28], [0.227_27, 0.286_88], [0.117_92, 0.152_14]];

/// The inverse of formula 11 of the paper, in the precisions of libvmaf.
fn watson(scale: usize, view_distance: f64, display_height: u32) -> Weights {
    #[allow(clippy::cast_possible_truncation)] // libvmaf computes with single precision.
    let resolution = (view_distance * f64::from(display_height) * std::f64::consts::PI / 180.0) as f32;
    let octave = [2.0, 4.0, 8.0, 16.0][scale];
    let weight = |orientation: usize| {
        let frequency = octave * f64::from(FREQUENCY) * f64::from(ORIENTATION[orientation]);
        #[allow(clippy::cast_possible_truncation)]
        let log = (frequency / f64::from(resolution)).log10() as f32;
        let exponent = SLOPE * log * log;
        #[allow(clippy::cast_possible_truncation)]
        let step = (2.0 * f64::from(THRESHOLD) * 10_f64.powf(f64::from(exponent))
            / f64::from(AMPLITUDES[scale][orientation])) as f32;
        1.0 / step
    };
    Weights { straight: weight(0), diagonal: weight(1) }
}

/// Weights of the straight and of the diagonal bands from the finest to the coarsest scale.
type BlendedWeights = [[f32; SCALES]; 2];

const DISPLAY_1080_AT_3: BlendedWeights =
    [[0.011_83, 0.025_026, 0.042_95, 0.058_621], [0.004_302, 0.011_778, 0.023_918, 0.035_901]];
const DISPLAY_1080_AT_5: BlendedWeights =
    [[0.004_212, 0.014_809, 0.029_642, 0.047_464], [0.000_984, 0.005_852, 0.014_6, 0.027_574]];
const DISPLAY_2160_AT_3: BlendedWeights =
    [[0.002_26, 0.011_83, 0.025_026, 0.042_95], [0.000_479, 0.004_302, 0.011_778, 0.023_918]];

fn blended(view_distance: f64, display_height: u32) -> Option<[Weights; SCALES]> {
    // Twice the rows at half the distance have the same angle.
    let displays = [
        (1080, 3.0, &DISPLAY_1080_AT_3),
        (1080, 5.0, &DISPLAY_1080_AT_5),
        (2160, 1.5, &DISPLAY_1080_AT_3),
        (2160, 3.0, &DISPLAY_2160_AT_3),
    ];
    #[allow(clippy::float_cmp)] // Tabulated for exactly these distances.
    let (_, _, [straight, diagonal]) = displays
        .into_iter()
        .find(|(height, distance, _)| *height == display_height && *distance == view_distance)?;
    Some(std::array::from_fn(|scale| Weights { straight: straight[scale], diagonal: diagonal[scale] }))
}
