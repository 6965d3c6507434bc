//! A rectangle of a picture.

use vmafx_kernels::{InvalidPlane, Plane};

/// Position and size in samples of luma. The position is even, so that chroma has it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PicturePart {
    position: (usize, usize),
    size: (usize, usize),
}

impl PicturePart {
    /// A part of the size of `part` inside of `whole`. Each half of the bits of `random` chooses one coordinate.
    pub(super) fn random(whole: (usize, usize), part: (usize, usize), random: u64) -> Self {
        let position = |whole: usize, part: usize, random: u64| {
            let positions = (whole.saturating_sub(part) / 2 + 1) as u64;
            2 * usize::try_from(random % positions).unwrap_or(0)
        };
        Self {
            position: (
                position(whole.0, part.0, random >> 32),
                position(whole.1, part.1, random & u64::from(u32::MAX)),
            ),
            size: part,
        }
    }

    pub(super) fn of_luma<'a, T>(self, luma: &Plane<'a, T>) -> Result<Plane<'a, T>, InvalidPlane> {
        luma.part(self.position, self.size)
    }

    /// The part in the planes of a picture. Chroma has the size that libvmaf gives it: half, rounded down.
    pub(super) fn of<'a, T>(self, planes: &[Plane<'a, T>; 3]) -> Result<[Plane<'a, T>; 3], InvalidPlane> {
        let [luma, ..] = planes;
        let of_plane = |plane: &Plane<'a, T>| {
            let (x_ratio, y_ratio) =
                (ratio(luma.width(), plane.width()), ratio(luma.height(), plane.height()));
            let ((x, y), (width, height)) = (self.position, self.size);
            plane.part((x / x_ratio, y / y_ratio), (width / x_ratio, height / y_ratio))
        };
        let [luma, first, second] = planes.each_ref().map(of_plane);
        Ok([luma?, first?, second?])
    }
}

/// Half the width and height. An odd size would round the size of chroma.
pub(super) fn half((width, height): (usize, usize)) -> (usize, usize) {
    let half = |length: usize| length.div_ceil(2).next_multiple_of(2).min(length);
    (half(width), half(height))
}

/// How many samples of luma there are for one of chroma.
fn ratio(luma: usize, chroma: usize) -> usize {
    if chroma < luma { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_even_position_inside_is_chosen() {
        let positions = |whole, part| {
            let part = |random| PicturePart::random((whole, 8), (part, 8), random << 32);
            let positions: std::collections::BTreeSet<usize> =
                (0..100_u64).map(|random| part(random).position.0).collect();
            positions.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(positions(10, 6), [0, 2, 4]);
        assert_eq!(positions(11, 6), [0, 2, 4]);
        assert_eq!(positions(11, 11), [0]);
    }

    #[test]
    fn a_part_of_a_picture_has_the_samples_of_each_plane() {
        let luma: Vec<u8> = (0..12 * 6).collect();
        let chroma: Vec<u8> = (0..5 * 3).collect();
        // A stride of 12 and an odd width.
        let planes = [
            Plane::new(&luma, 12, 11, 6).unwrap(),
            Plane::new(&chroma, 5, 5, 3).unwrap(),
            Plane::new(&chroma, 5, 5, 3).unwrap(),
        ];
        let part = PicturePart { position: (4, 2), size: (6, 4) };
        let [luma, first, second] = part.of(&planes).unwrap();
        assert_eq!((luma.width(), luma.height(), luma.row(0)), (6, 4, &[28, 29, 30, 31, 32, 33][..]));
        assert_eq!(luma.row(3), [64, 65, 66, 67, 68, 69]);
        for chroma in [first, second] {
            assert_eq!((chroma.width(), chroma.height(), chroma.row(1)), (3, 2, &[12, 13, 14][..]));
        }
        let outside = PicturePart { position: (6, 2), size: (6, 4) };
        assert!(outside.of(&planes).is_err());
    }
}
