//! Pictures, and the pools they come from.

use std::ptr::NonNull;
use std::sync::Arc;
use std::{fmt, mem, slice};

use vmaf_head_sys as sys;
use vmafx_job::{BitDepth, PixelFormat};

use super::context::{self, Config};
use super::{Failure, silence};
use crate::picture::{Format, PictureMut, PlaneMut};

unsafe extern "C" {
    /// From libvmaf's src/picture.h: copies the handle and counts one more owner.
    fn vmaf_picture_ref(dst: *mut sys::VmafPicture, src: *mut sys::VmafPicture) -> std::ffi::c_int;
}

/// A fixed number of pictures of one shape, allocated once and used again and again.
///
/// libvmaf hangs its pools on contexts. A pool here is a context of its own that never sees a frame, so that several
/// contexts can share the pictures of one clip.
pub struct PicturePool {
    context: NonNull<sys::VmafContext>,
    format: Format,
}

// SAFETY: after `new` only `vmaf_fetch_preallocated_picture` is called on the context, and that locks (invariant 5).
unsafe impl Send for PicturePool {}
// SAFETY: the same.
unsafe impl Sync for PicturePool {}

impl PicturePool {
    /// Allocates `count` pictures.
    pub fn new(format: Format, count: u32) -> Result<Arc<Self>, Failure> {
        silence();
        let context = context::init(Config::default())?;
        let pool = Self { context, format };
        let configuration = sys::VmafPictureConfiguration {
            pic_params: sys::VmafPictureConfiguration__bindgen_ty_1 {
                w: format.width,
                h: format.height,
                bpc: format.depth.bits(),
                pix_fmt: pixel_format(format.chroma),
            },
            pic_cnt: count,
        };
        // SAFETY: the context is ours and lives; the configuration is a plain value.
        let code = unsafe { sys::vmaf_preallocate_pictures(context.as_ptr(), configuration) };
        Failure::check("vmaf_preallocate_pictures", code)?;
        Ok(Arc::new(pool))
    }

    /// The shape of its pictures.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Takes a picture with whatever was in it before. Waits while all are in use.
    pub fn fetch(self: &Arc<Self>) -> Result<Picture, Failure> {
        // SAFETY: an all-zero picture is what libvmaf itself calls empty: null pointers and zeroes.
        let mut raw: sys::VmafPicture = unsafe { mem::zeroed() };
        // SAFETY: the context lives as long as the pool; the call locks.
        let code = unsafe { sys::vmaf_fetch_preallocated_picture(self.context.as_ptr(), &raw mut raw) };
        Failure::check("vmaf_fetch_preallocated_picture", code)?;
        Ok(Picture(Handle { raw, pool: Arc::clone(self) }))
    }
}

impl Drop for PicturePool {
    fn drop(&mut self) {
        // SAFETY: the last use of the context. All pictures are back: each held an `Arc` of this pool, and so did each
        // context that was given one (invariant 1).
        unsafe { sys::vmaf_close(self.context.as_ptr()) };
    }
}

impl fmt::Debug for PicturePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PicturePool").field("format", &self.format).finish_non_exhaustive()
    }
}

/// One counted ownership of a picture.
struct Handle {
    raw: sys::VmafPicture,
    pool: Arc<PicturePool>,
}

// SAFETY: the count is atomic and giving a picture back locks the pool (invariant 5).
unsafe impl Send for Handle {}
// SAFETY: nothing can be changed through a shared handle.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: we own one count unless libvmaf took it, and then it left zeroes, which it refuses (invariant 2).
        unsafe { sys::vmaf_picture_unref(&raw mut self.raw) };
    }
}

/// A picture that nobody else sees: it can be filled.
pub struct Picture(Handle);

impl Picture {
    /// The planes, to be filled. Their sizes are libvmaf's: an odd luma size rounds **down** for chroma.
    pub fn planes(&mut self) -> PictureMut<'_> {
        [0, 1, 2].map(|plane| self.plane(plane))
    }

    fn plane<'a>(&self, index: usize) -> PlaneMut<'a> {
        let raw = &self.0.raw;
        let sample = if raw.bpc > 8 { 2 } else { 1 };
        let (row_bytes, rows) = (raw.w[index] as usize * sample, raw.h[index] as usize);
        let stride = usize::try_from(raw.stride[index]).unwrap_or(0);
        let data: &'a mut [u8] = if rows == 0 || raw.data[index].is_null() {
            &mut []
        } else {
            // SAFETY: libvmaf allocated `stride * rows` bytes for this plane and set them to zero; the planes do not
            // overlap. Only `planes` calls this, with `&mut self` for the same lifetime, and no one else holds this
            // picture.
            unsafe { slice::from_raw_parts_mut(raw.data[index].cast(), stride * rows) }
        };
        PlaneMut { data, stride, row_bytes, rows }
    }

    /// Gives up the right to change it, and gains the right to hand it to several contexts.
    pub fn share(self) -> SharedPicture {
        SharedPicture(self.0)
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Picture").field(&self.0.pool.format).finish()
    }
}

/// A picture that is finished. Clones are the same picture.
pub struct SharedPicture(Handle);

impl SharedPicture {
    /// The pool it returns to.
    pub(super) fn pool(&self) -> &Arc<PicturePool> {
        &self.0.pool
    }

    /// For a call that takes the picture or leaves it; dropping `self` afterwards is right in both cases.
    pub(super) fn as_raw(&mut self) -> *mut sys::VmafPicture {
        &raw mut self.0.raw
    }
}

impl Clone for SharedPicture {
    fn clone(&self) -> Self {
        let mut source = self.0.raw;
        // SAFETY: all zero is libvmaf's empty picture.
        let mut raw: sys::VmafPicture = unsafe { mem::zeroed() };
        // SAFETY: `source` is a copy of a handle that we hold for the whole call; the call copies it and counts up.
        unsafe { vmaf_picture_ref(&raw mut raw, &raw mut source) };
        Self(Handle { raw, pool: Arc::clone(&self.0.pool) })
    }
}

impl fmt::Debug for SharedPicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedPicture").field(&self.0.pool.format).finish()
    }
}

fn pixel_format(chroma: PixelFormat) -> sys::VmafPixelFormat {
    match chroma {
        PixelFormat::Yuv420p => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV420P,
        PixelFormat::Yuv422p => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV422P,
        PixelFormat::Yuv444p => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV444P,
    }
}

/// A shape so small that it costs nothing, for the pool that a context with threads insists on.
pub(super) const TINY: Format =
    Format { width: 16, height: 16, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
