//! The shape of planar YUV pictures, and room to put one in.

use std::fmt;

/// How chroma is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub enum Chroma {
    /// Halved in both directions.
    #[serde(rename = "420")]
    C420,
    /// Halved horizontally.
    #[serde(rename = "422")]
    C422,
    /// As fine as luma.
    #[serde(rename = "444")]
    C444,
}

/// Bits per sample. More than eight are stored in two bytes, low byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(into = "u32")]
pub enum Depth {
    /// 8 bits, one byte.
    Eight,
    /// 10 bits.
    Ten,
    /// 12 bits.
    Twelve,
    /// 16 bits.
    Sixteen,
}

impl Depth {
    /// Every depth that the engine takes.
    pub const ALL: [Self; 4] = [Self::Eight, Self::Ten, Self::Twelve, Self::Sixteen];

    /// The number of bits.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Eight => 8,
            Self::Ten => 10,
            Self::Twelve => 12,
            Self::Sixteen => 16,
        }
    }

    /// The depth with so many bits.
    pub fn from_bits(bits: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|depth| depth.bits() == bits)
    }

    /// Bytes that one sample takes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Eight => 1,
            _ => 2,
        }
    }
}

impl From<Depth> for u32 {
    fn from(depth: Depth) -> Self {
        depth.bits()
    }
}

/// The shape of a picture: what two clips must agree on before they can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Format {
    /// Luma samples per row.
    pub width: u32,
    /// Rows of luma.
    pub height: u32,
    /// Chroma sampling.
    pub chroma: Chroma,
    /// Bits per sample.
    pub depth: Depth,
}

impl Format {
    /// Width and height of a plane in samples: 0 is luma, 1 and 2 are chroma. An odd luma size rounds up.
    pub const fn plane(self, plane: usize) -> (usize, usize) {
        let (width, height) = (self.width as usize, self.height as usize);
        match (plane, self.chroma) {
            (0, _) | (_, Chroma::C444) => (width, height),
            (_, Chroma::C420) => (width.div_ceil(2), height.div_ceil(2)),
            (_, Chroma::C422) => (width.div_ceil(2), height),
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
}

/// As people write it: `1920x1080 yuv420p 10 bit`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chroma = match self.chroma {
            Chroma::C420 => "yuv420p",
            Chroma::C422 => "yuv422p",
            Chroma::C444 => "yuv444p",
        };
        write!(f, "{}x{} {chroma} {} bit", self.width, self.height, self.depth.bits())
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
    /// Rows.
    pub rows: usize,
}

impl PlaneMut<'_> {
    /// The rows, without their padding.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let (row_bytes, rows) = (self.row_bytes, self.rows);
        self.data.chunks_mut(self.stride.max(1)).take(rows).map(move |row| &mut row[..row_bytes])
    }
}

/// Room for one picture: planes Y, U, V.
pub type PictureMut<'a> = [PlaneMut<'a>; 3];
