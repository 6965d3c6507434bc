//! The format of planar YUV pictures, and the buffers that one is read into.

use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};
use vmafx_job::{BitDepth, PixelFormat, RawVideo, SampleFormat};

/// What two clips must agree on before they can be compared. Samples of more than eight bits are stored in two bytes, low
/// byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct PictureFormat {
    /// Luma samples per row.
    pub width: u32,
    /// Rows of luma.
    pub height: u32,
    /// Reports write the digits alone: `420`, `422` or `444`.
    #[serde(serialize_with = "chroma_digits")]
    pub chroma: PixelFormat,
    /// Bits per sample.
    pub depth: BitDepth,
}

impl PictureFormat {
    /// Width and height of a plane in samples: 0 is luma, 1 and 2 are chroma. An odd luma size rounds up.
    pub const fn plane(self, plane: usize) -> (usize, usize) {
        let (width, height) = (self.width as usize, self.height as usize);
        match (plane, self.chroma) {
            (0, _) | (_, PixelFormat::Yuv444p) => (width, height),
            (_, PixelFormat::Yuv420p) => (width.div_ceil(2), height.div_ceil(2)),
            (_, PixelFormat::Yuv422p) => (width.div_ceil(2), height),
        }
    }

    /// Bytes of a plane without padding.
    pub const fn plane_bytes(self, plane: usize) -> usize {
        let (width, height) = self.plane(plane);
        width * height * self.depth.bytes()
    }

    /// Bytes of a whole picture without padding.
    pub const fn bytes(self) -> usize {
        self.plane_bytes(0) + self.plane_bytes(1) + self.plane_bytes(2)
    }

    /// The name that `ffmpeg` has for such samples, such as `yuv420p10le`.
    pub fn sample_format(self) -> SampleFormat {
        SampleFormat { pixel_format: self.chroma, bit_depth: self.depth }
    }
}

impl From<RawVideo> for PictureFormat {
    fn from(raw: RawVideo) -> Self {
        Self { width: raw.width, height: raw.height, chroma: raw.pixel_format, depth: raw.bit_depth }
    }
}

/// As people write it: `1920x1080 yuv420p 10 bit`.
impl fmt::Display for PictureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{} {} {} bit", self.width, self.height, self.chroma, self.depth.bits())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn chroma_digits<S: Serializer>(chroma: &PixelFormat, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match chroma {
        PixelFormat::Yuv420p => "420",
        PixelFormat::Yuv422p => "422",
        PixelFormat::Yuv444p => "444",
    })
}

/// The samples of one of `cells` equal parts of a row or column of `length` samples. Where there are fewer samples than parts, each
/// part has one sample, which others have too.
pub(crate) fn cell(index: usize, cells: usize, length: usize) -> Range<usize> {
    let start = index * length / cells;
    start..((index + 1) * length / cells).max(start + 1)
}

/// A picture in memory, without padding.
#[derive(Clone, Debug)]
pub(crate) struct PictureBuffer {
    format: PictureFormat,
    planes: [Vec<u8>; 3],
}

impl PictureBuffer {
    pub(crate) fn new(format: PictureFormat) -> Self {
        Self { format, planes: [0, 1, 2].map(|plane| vec![0; format.plane_bytes(plane)]) }
    }

    pub(crate) const fn format(&self) -> PictureFormat {
        self.format
    }

    pub(crate) fn plane(&self, plane: usize) -> &[u8] {
        &self.planes[plane]
    }

    /// The planes to be filled.
    pub(crate) fn planes_mut(&mut self) -> PictureMut<'_> {
        let format = self.format;
        let [y, u, v] = &mut self.planes;
        let plane = |plane: usize, data| {
            let (width, rows) = format.plane(plane);
            let row_bytes = width * format.depth.bytes();
            PlaneMut { data, stride: row_bytes, row_bytes, rows }
        };
        [plane(0, y), plane(1, u), plane(2, v)]
    }

    /// A picture with these bytes in its planes.
    #[cfg(test)]
    pub(crate) fn of(format: PictureFormat, planes: [&[u8]; 3]) -> Self {
        Self { format, planes: planes.map(<[u8]>::to_vec) }
    }
}

/// One plane to be filled: `rows` rows of `row_bytes` bytes, each `stride` bytes after the one before.
#[derive(Debug)]
pub struct PlaneMut<'a> {
    /// At least `stride * (rows - 1) + row_bytes` bytes.
    pub data: &'a mut [u8],
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Bytes of a row that carry samples.
    pub row_bytes: usize,
    pub rows: usize,
}

impl PlaneMut<'_> {
    /// The rows, without their padding.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let (row_bytes, rows) = (self.row_bytes, self.rows);
        self.data.chunks_mut(self.stride.max(1)).take(rows).map(move |row| &mut row[..row_bytes])
    }
}

/// The planes Y, U and V of one picture to be filled.
pub type PictureMut<'a> = [PlaneMut<'a>; 3];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_all_samples_and_none_is_empty() {
        let cells = |count: usize, length: usize| {
            (0..count).map(|index| cell(index, count, length)).collect::<Vec<_>>()
        };
        assert_eq!(cells(3, 10), [0..3, 3..6, 6..10]);
        assert_eq!(cells(4, 2), [0..1, 0..1, 1..2, 1..2]);
    }

    #[test]
    fn reports_write_the_digits_of_the_chroma_format() {
        let format =
            PictureFormat { width: 2, height: 4, chroma: PixelFormat::Yuv422p, depth: BitDepth::Ten };
        let json = serde_json::to_string(&format).unwrap();
        assert_eq!(json, r#"{"width":2,"height":4,"chroma":"422","depth":10}"#);
        assert_eq!(
            (format.to_string(), format.sample_format().to_string()),
            ("2x4 yuv422p 10 bit".into(), "yuv422p10le".into())
        );
    }
}
