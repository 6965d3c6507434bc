//! Pictures of libvmaf and their pools.

use std::ptr::NonNull;
use std::sync::Arc;
use std::{fmt, mem, slice};

use vmaf_head_sys as sys;
use vmafx_job::{BitDepth, PixelFormat};
use vmafx_kernels::{InvalidPlane, Plane};

use super::context::{self, ContextConfig};
use super::{LibvmafError, silence};
use crate::picture::{PictureFormat, PictureMut, PlaneMut};

unsafe extern "C" {
    /// From libvmaf's src/picture.h: copies the handle and increments the reference count.
    fn vmaf_picture_ref(dst: *mut sys::VmafPicture, src: *mut sys::VmafPicture) -> std::ffi::c_int;
}

/// A fixed number of reusable pictures of one format.
///
/// In libvmaf a pool belongs to a context. This one has a context of its own, which is never fed, so that several contexts can
/// share the pictures of one clip.
pub struct PicturePool {
    context: NonNull<sys::VmafContext>,
    format: PictureFormat,
}

// SAFETY: after `new` only `vmaf_fetch_preallocated_picture` is called on the context, and that locks (invariant 5).
unsafe impl Send for PicturePool {}
// SAFETY: the same.
unsafe impl Sync for PicturePool {}

impl PicturePool {
    /// Allocates `count` pictures.
    pub fn new(format: PictureFormat, count: u32) -> Result<Arc<Self>, LibvmafError> {
        silence();
        let context = context::init(ContextConfig::default())?;
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
        // SAFETY: the context is owned here and valid; the configuration is a plain value.
        let code = unsafe { sys::vmaf_preallocate_pictures(context.as_ptr(), configuration) };
        LibvmafError::check("vmaf_preallocate_pictures", code)?;
        Ok(Arc::new(pool))
    }

    pub fn format(&self) -> PictureFormat {
        self.format
    }

    /// Takes a picture, which still has its previous content. Blocks while all are in use.
    pub fn fetch(self: &Arc<Self>) -> Result<Picture, LibvmafError> {
        // SAFETY: libvmaf represents an empty picture by zeroes and null pointers.
        let mut raw: sys::VmafPicture = unsafe { mem::zeroed() };
        // SAFETY: the context lives as long as the pool; the call locks.
        let code = unsafe { sys::vmaf_fetch_preallocated_picture(self.context.as_ptr(), &raw mut raw) };
        LibvmafError::check("vmaf_fetch_preallocated_picture", code)?;
        Ok(Picture(PictureHandle { raw, pool: Arc::clone(self) }))
    }
}

impl Drop for PicturePool {
    fn drop(&mut self) {
        // SAFETY: this is the last use of the context. All pictures are returned, because each of them and each context that was
        // fed one held an `Arc` of this pool (invariant 1).
        unsafe { sys::vmaf_close(self.context.as_ptr()) };
    }
}

impl fmt::Debug for PicturePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PicturePool").field("format", &self.format).finish_non_exhaustive()
    }
}

/// One reference to a picture, which is counted.
struct PictureHandle {
    raw: sys::VmafPicture,
    pool: Arc<PicturePool>,
}

// SAFETY: the count is atomic, and returning a picture locks the pool (invariant 5).
unsafe impl Send for PictureHandle {}
// SAFETY: a shared handle gives no write access.
unsafe impl Sync for PictureHandle {}

impl Drop for PictureHandle {
    fn drop(&mut self) {
        // SAFETY: this handle owns one count, unless libvmaf took it and left zeroes, which it refuses (invariant 2).
        unsafe { sys::vmaf_picture_unref(&raw mut self.raw) };
    }
}

/// A picture with a single owner, which can fill it.
pub struct Picture(PictureHandle);

impl Picture {
    /// The planes to be filled. In libvmaf an odd luma size rounds **down** for chroma.
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
            // SAFETY: libvmaf allocated `stride * rows` bytes for this plane and initialised them; planes do not overlap. Only
            // `planes` calls this, with `&mut self` for the same lifetime, and this is the only handle of the picture.
            unsafe { slice::from_raw_parts_mut(raw.data[index].cast(), stride * rows) }
        };
        PlaneMut { data, stride, row_bytes, rows }
    }

    /// Makes the picture immutable, so that several contexts can read it.
    pub fn share(self) -> SharedPicture {
        SharedPicture(self.0)
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Picture").field(&self.0.pool.format).finish()
    }
}

/// An immutable picture. Clones refer to the same picture.
pub struct SharedPicture(PictureHandle);

impl SharedPicture {
    pub(super) fn pool(&self) -> &Arc<PicturePool> {
        &self.0.pool
    }

    /// For a call that may take ownership of the picture; `self` can be dropped in both cases.
    pub(super) fn as_raw(&mut self) -> *mut sys::VmafPicture {
        &raw mut self.0.raw
    }
}

/// The planes Y, U and V, with samples of either size.
pub(crate) enum PicturePlanes<'a> {
    Bytes([Plane<'a, u8>; 3]),
    Words([Plane<'a, u16>; 3]),
}

impl SharedPicture {
    pub(crate) fn planes(&self) -> Result<PicturePlanes<'_>, InvalidPlane> {
        if self.0.raw.bpc == 8 {
            Ok(PicturePlanes::Bytes([self.plane(0)?, self.plane(1)?, self.plane(2)?]))
        } else {
            Ok(PicturePlanes::Words([self.plane(0)?, self.plane(1)?, self.plane(2)?]))
        }
    }

    fn plane<T: vmafx_kernels::PlaneSample>(&self, index: usize) -> Result<Plane<'_, T>, InvalidPlane> {
        let raw = &self.0.raw;
        let (width, height) = (raw.w[index] as usize, raw.h[index] as usize);
        let stride = usize::try_from(raw.stride[index]).unwrap_or(0) / T::BYTES;
        Plane::new(self.samples(index, stride * height), stride, width, height)
    }

    fn samples<T: vmafx_kernels::PlaneSample>(&self, index: usize, length: usize) -> &[T] {
        let data: *const T = self.0.raw.data[index].cast();
        if data.is_null() || !data.is_aligned() {
            return &[];
        }
        // SAFETY: libvmaf allocated and initialised `stride * rows` bytes for this plane, which hold `length` integers `T`, for
        // which every bit pattern is valid. No handle of a shared picture gives write access, and this one is borrowed.
        unsafe { slice::from_raw_parts(data, length) }
    }
}

impl Clone for SharedPicture {
    fn clone(&self) -> Self {
        let mut source = self.0.raw;
        // SAFETY: libvmaf represents an empty picture by zeroes.
        let mut raw: sys::VmafPicture = unsafe { mem::zeroed() };
        // SAFETY: `source` is a copy of a handle that is valid for the whole call, which copies it and increments the count.
        unsafe { vmaf_picture_ref(&raw mut raw, &raw mut source) };
        Self(PictureHandle { raw, pool: Arc::clone(&self.0.pool) })
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

/// A negligible size for the pool that a context with threads requires.
pub(super) const TINY: PictureFormat =
    PictureFormat { width: 16, height: 16, chroma: PixelFormat::Yuv420p, depth: BitDepth::Eight };
