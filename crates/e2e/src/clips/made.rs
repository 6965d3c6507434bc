//! Short clips of many qualities, made of a golden one. Pure: the same number gives the same bytes.

const WIDTH: usize = 160;
const HEIGHT: usize = 90;
const LUMA: usize = WIDTH * HEIGHT;
const FRAME: usize = LUMA * 3 / 2;

/// Frames of each clip: enough for motion, and scored in moments.
const FRAMES: usize = 3;

/// References, each a different part of the golden clip.
pub(super) const REFERENCES: usize = 4;

/// Bytes of a part of the golden clip.
pub(super) fn reference(golden: &[u8], number: usize) -> Vec<u8> {
    let start = number * 11 * FRAME;
    golden[start..start + FRAMES * FRAME].to_vec()
}

/// The same, blurred, coarse and noisy by different amounts.
pub(super) fn distorted(reference: &[u8], number: usize) -> Vec<u8> {
    let (blur, step, noise) = (number % 5, [1, 6, 14, 24, 40][number / 5 % 5], [0, 12][number / 25 % 2]);
    let mut random = 1 + u32::try_from(number).unwrap_or_default();
    let mut clip = reference.to_vec();
    for frame in clip.chunks_mut(FRAME) {
        let original = frame[..LUMA].to_vec();
        for (place, pixel) in frame[..LUMA].iter_mut().enumerate() {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let jitter = i32::try_from(random >> 16).unwrap_or_default() % (2 * noise + 1) - noise;
            let smooth = mean(&original, place, blur);
            *pixel =
                u8::try_from((smooth / step * step + step / 2 + jitter).clamp(0, 255)).unwrap_or_default();
        }
    }
    clip
}

/// The mean of the pixels around one.
fn mean(luma: &[u8], place: usize, radius: usize) -> i32 {
    let (column, row) = (place % WIDTH, place / WIDTH);
    let columns = column.saturating_sub(radius)..=(column + radius).min(WIDTH - 1);
    let rows = row.saturating_sub(radius)..=(row + radius).min(HEIGHT - 1);
    let around =
        rows.flat_map(|row| columns.clone().map(move |column| i32::from(luma[row * WIDTH + column])));
    let (sum, count) = around.fold((0, 0), |(sum, count), pixel| (sum + pixel, count + 1));
    sum / count
}
