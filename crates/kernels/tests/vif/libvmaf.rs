//! One extractor of libvmaf, through its C API.
#![allow(unsafe_code, reason = "libvmaf is called through its C API")]

use std::ffi::{CString, c_uint};
use std::ptr;

use vmaf_head_sys as sys;
use vmafx_kernels::Plane;

/// Samples that can be written into libvmaf's pictures.
pub(crate) trait Bytes: Copy {
    fn bytes(self) -> impl Iterator<Item = u8>;
}

impl Bytes for u8 {
    fn bytes(self) -> impl Iterator<Item = u8> {
        [self].into_iter()
    }
}

impl Bytes for u16 {
    fn bytes(self) -> impl Iterator<Item = u8> {
        self.to_ne_bytes().into_iter()
    }
}

pub(crate) struct Extractor {
    context: *mut sys::VmafContext,
    depth: u32,
    pairs: c_uint,
}

impl Extractor {
    /// `cpu_mask` has the CPU features that libvmaf must not use: 48 leaves AVX2, 63 none.
    pub(crate) fn new(name: &str, options: &[(&str, &str)], depth: u32, cpu_mask: u64) -> Self {
        let config = sys::VmafConfiguration {
            log_level: sys::VmafLogLevel_VMAF_LOG_LEVEL_NONE,
            n_threads: 0,
            n_subsample: 1,
            cpumask: cpu_mask,
            gpumask: 0,
        };
        let text = |text: &str| CString::new(text).unwrap();
        let (mut context, mut dictionary) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: all strings outlive the calls, which copy them; the context takes over the dictionary.
        unsafe {
            assert_eq!(sys::vmaf_init(&raw mut context, config), 0);
            for (key, value) in options {
                let (key, value) = (text(key), text(value));
                assert_eq!(
                    sys::vmaf_feature_dictionary_set(&raw mut dictionary, key.as_ptr(), value.as_ptr()),
                    0
                );
            }
            let name = text(name);
            assert_eq!(sys::vmaf_use_feature(context, name.as_ptr(), dictionary), 0);
        }
        Self { context, depth, pairs: 0 }
    }

    /// A picture with `plane` as luma.
    pub(crate) fn picture<T: Bytes>(&self, plane: &Plane<'_, T>) -> Picture {
        let (width, height) =
            (c_uint::try_from(plane.width()).unwrap(), c_uint::try_from(plane.height()).unwrap());
        // SAFETY: the struct has no invalid bit patterns and is filled by libvmaf, which allocates `height` rows of
        // `stride` bytes; a row of samples has at most as many.
        unsafe {
            let mut picture: sys::VmafPicture = std::mem::zeroed();
            let format = sys::VmafPixelFormat_VMAF_PIX_FMT_YUV400P;
            assert_eq!(sys::vmaf_picture_alloc(&raw mut picture, format, self.depth, width, height), 0);
            let stride = picture.stride[0].cast_unsigned();
            assert!(stride >= plane.width() * size_of::<T>());
            for y in 0..plane.height() {
                let row = picture.data[0].cast::<u8>().add(y * stride);
                for (offset, byte) in plane.row(y).iter().flat_map(|sample| sample.bytes()).enumerate() {
                    row.add(offset).write(byte);
                }
            }
            Picture(picture)
        }
    }

    /// Measures a pair and returns its index.
    pub(crate) fn measure(
        &mut self,
        Picture(mut reference): Picture,
        Picture(mut distorted): Picture,
    ) -> c_uint {
        let index = self.pairs;
        // SAFETY: both pictures were allocated by libvmaf, and the context takes them over.
        unsafe {
            assert_eq!(
                sys::vmaf_read_pictures(self.context, &raw mut reference, &raw mut distorted, index),
                0
            );
        }
        self.pairs += 1;
        index
    }

    pub(crate) fn feature(&self, name: &str, index: c_uint) -> f64 {
        let c_name = CString::new(name).unwrap();
        let mut value = f64::NAN;
        // SAFETY: the name and the value outlive the call.
        let code =
            unsafe { sys::vmaf_feature_score_at_index(self.context, c_name.as_ptr(), &raw mut value, index) };
        assert_eq!(code, 0, "{name}");
        value
    }
}

impl Drop for Extractor {
    fn drop(&mut self) {
        // SAFETY: the context is not used any more.
        unsafe { sys::vmaf_close(self.context) };
    }
}

/// A picture that libvmaf allocated. [`Extractor::measure`] gives it back.
pub(crate) struct Picture(sys::VmafPicture);
