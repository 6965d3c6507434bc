//! libvmaf's features of pictures, through its C API.

#![allow(unsafe_code, reason = "libvmaf is called through its C API")]

use std::ffi::CString;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vmaf_head_sys as sys;

use super::picture::{Chroma, Picture};

/// libvmaf's bits for the CPU features that it must not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuMask {
    /// Uses the best instruction set.
    None,
    /// Uses at most AVX2.
    Avx512,
    /// Uses C only.
    All,
}

impl CpuMask {
    fn bits(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Avx512 => 48,
            Self::All => u64::MAX,
        }
    }
}

/// libvmaf keeps its mask in a variable of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The named features of an extractor with these options: for each pair one per name.
pub(crate) fn features(
    mask: CpuMask,
    extractor: &str,
    options: &[(&str, &str)],
    pairs: &[(&Picture, &Picture)],
    names: &[String],
) -> Vec<Vec<f64>> {
    let context = Context::new(mask, extractor, options);
    for (index, &(reference, distorted)) in pairs.iter().enumerate() {
        context.read([reference, distorted].map(LibvmafPicture::new), index);
    }
    context.flush();
    (0..pairs.len()).map(|index| names.iter().map(|name| context.feature(name, index)).collect()).collect()
}

/// At most one extractor in a context of its own. Another one waits until this is dropped.
pub(crate) struct Context {
    context: *mut sys::VmafContext,
    _mask: MutexGuard<'static, ()>,
}

impl Context {
    pub(crate) fn new(mask: CpuMask, extractor: &str, options: &[(&str, &str)]) -> Self {
        let context = Self::without_extractor(mask);
        let mut dictionary = ptr::null_mut();
        for (name, value) in options {
            let [name, value] = [name, value].map(|text| CString::new(*text).unwrap());
            // SAFETY: all pointers are valid for the call, which copies the strings and creates the dictionary.
            let code = unsafe {
                sys::vmaf_feature_dictionary_set(&raw mut dictionary, name.as_ptr(), value.as_ptr())
            };
            assert_eq!(code, 0);
        }
        let name = CString::new(extractor).unwrap();
        // SAFETY: the name is valid for the call, and libvmaf takes ownership of the dictionary.
        let code = unsafe { sys::vmaf_use_feature(context.context, name.as_ptr(), dictionary) };
        assert_eq!(code, 0, "{extractor}");
        context
    }

    /// A context that reads pictures and computes nothing.
    pub(crate) fn without_extractor(mask: CpuMask) -> Self {
        let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let config = sys::VmafConfiguration {
            log_level: sys::VmafLogLevel_VMAF_LOG_LEVEL_NONE,
            n_threads: 0,
            n_subsample: 1,
            cpumask: mask.bits(),
            gpumask: 0,
        };
        let mut context = ptr::null_mut();
        // SAFETY: `context` is valid for the call.
        assert_eq!(unsafe { sys::vmaf_init(&raw mut context, config) }, 0);
        Self { context, _mask: guard }
    }

    /// The reference and the distorted picture.
    pub(crate) fn read(&self, [mut reference, mut distorted]: [LibvmafPicture; 2], index: usize) {
        let index = u32::try_from(index).unwrap();
        // SAFETY: libvmaf takes ownership of both pictures, which it allocated.
        let code = unsafe {
            sys::vmaf_read_pictures(self.context, &raw mut reference.0, &raw mut distorted.0, index)
        };
        assert_eq!(code, 0);
    }

    pub(crate) fn flush(&self) {
        // SAFETY: null pointers mean the end of the clip.
        assert_eq!(unsafe { sys::vmaf_read_pictures(self.context, ptr::null_mut(), ptr::null_mut(), 0) }, 0);
    }

    pub(crate) fn feature(&self, name: &str, index: usize) -> f64 {
        let (c_name, index) = (CString::new(name).unwrap(), u32::try_from(index).unwrap());
        let mut value = f64::NAN;
        // SAFETY: all pointers are valid for the call.
        let code =
            unsafe { sys::vmaf_feature_score_at_index(self.context, c_name.as_ptr(), &raw mut value, index) };
        assert_eq!(code, 0, "{name} of frame {index}");
        value
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: this is the last use of the context.
        unsafe { sys::vmaf_close(self.context) };
    }
}

/// A copy of a picture for [`Context::read`], after which libvmaf owns it.
pub(crate) struct LibvmafPicture(sys::VmafPicture);

impl LibvmafPicture {
    pub(crate) fn new(picture: &Picture) -> Self {
        let format = match picture.chroma {
            Chroma::None => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV400P,
            Chroma::Both => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV420P,
            Chroma::Horizontal => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV422P,
            Chroma::Full => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV444P,
        };
        let (width, height, depth) = picture.geometry();
        let (width, height) = (u32::try_from(width).unwrap(), u32::try_from(height).unwrap());
        // SAFETY: libvmaf represents an empty picture by zeroes and null pointers.
        let mut allocated: sys::VmafPicture = unsafe { std::mem::zeroed() };
        // SAFETY: `allocated` is valid for the call.
        let code = unsafe { sys::vmaf_picture_alloc(&raw mut allocated, format, depth, width, height) };
        assert_eq!(code, 0);
        for (index, plane) in picture.planes.iter().enumerate() {
            let size = (allocated.w[index] as usize, allocated.h[index] as usize);
            assert_eq!(size, (plane.width, plane.height));
            let stride = usize::try_from(allocated.stride[index]).unwrap();
            let start = allocated.data[index].cast::<u8>();
            // SAFETY: libvmaf allocated and cleared `stride` bytes for each row, and nothing else refers to them.
            let bytes = unsafe { std::slice::from_raw_parts_mut(start, stride * plane.height) };
            for (row, samples) in bytes.chunks_exact_mut(stride).zip(plane.samples.chunks_exact(plane.width))
            {
                if depth == 8 {
                    for (byte, sample) in row.iter_mut().zip(samples) {
                        *byte = u8::try_from(*sample).unwrap();
                    }
                } else {
                    for (bytes, sample) in row.chunks_exact_mut(2).zip(samples) {
                        bytes.copy_from_slice(&sample.to_ne_bytes());
                    }
                }
            }
        }
        Self(allocated)
    }
}
