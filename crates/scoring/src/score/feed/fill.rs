//! Reads frames into pictures of libvmaf.

use crate::engine::Picture;
use crate::input::{FrameSource, InputError};
use crate::picture::{PictureBuffer, PictureFormat, PictureMut};

/// Reads frames into pictures. If a luma size is odd, files have a last chroma column or row that libvmaf's pictures lack;
/// then a frame is read into a buffer and copied. Otherwise it is read directly.
pub(super) struct Filler {
    format: PictureFormat,
    buffer: Option<PictureBuffer>,
}

impl Filler {
    pub(super) fn new(format: PictureFormat) -> Self {
        Self { format, buffer: None }
    }

    /// Reads the next frame; `false` at the end.
    pub(super) fn fill(
        &mut self,
        source: &mut dyn FrameSource,
        picture: &mut Picture,
    ) -> Result<bool, InputError> {
        let mut planes = picture.planes();
        let fits = (0..3).all(|plane| {
            let (width, rows) = self.format.plane(plane);
            planes[plane].rows == rows && planes[plane].row_bytes == width * self.format.depth.bytes()
        });
        if fits {
            return source.read(&mut planes);
        }
        let buffer = self.buffer.get_or_insert_with(|| PictureBuffer::new(self.format));
        let mut whole = buffer.planes_mut();
        let there = source.read(&mut whole)?;
        copy(&mut whole, &mut planes);
        Ok(there)
    }
}

fn copy(from: &mut PictureMut<'_>, to: &mut PictureMut<'_>) {
    for (from, to) in from.iter_mut().zip(to) {
        let bytes = from.row_bytes.min(to.row_bytes);
        for (from, to) in from.rows_mut().zip(to.rows_mut()) {
            to[..bytes].copy_from_slice(&from[..bytes]);
        }
    }
}
