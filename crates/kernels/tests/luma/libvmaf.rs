//! libvmaf's own extractors, which the kernels are compared with.

#![allow(unsafe_code, dead_code, clippy::unwrap_used)] // Each test uses a part.

use std::ffi::CString;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use vmaf_head_sys as sys;

/// One luma plane without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Luma {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: u32,
    pub(crate) samples: Vec<u16>,
}

/// libvmaf's bits for the CPU features that it must not use. They apply to the whole process.
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

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The values of the named features, frame by frame, of an extractor with these options.
pub(crate) fn features(
    mask: CpuMask,
    extractor: &str,
    options: &[(&str, &str)],
    frames: &[(&Luma, &Luma)],
    names: &[String],
) -> Vec<Vec<f64>> {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let context = Context::new(mask, extractor, options);
    for (index, (reference, distorted)) in frames.iter().enumerate() {
        context.read(reference, distorted, index);
    }
    context.flush();
    (0..frames.len()).map(|index| names.iter().map(|name| context.feature(name, index)).collect()).collect()
}

/// One extractor in a context of its own.
pub(crate) struct Context(*mut sys::VmafContext);

impl Context {
    pub(crate) fn new(mask: CpuMask, extractor: &str, options: &[(&str, &str)]) -> Self {
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
        let mut dictionary = ptr::null_mut();
        for (key, value) in options {
            let (key, value) = (CString::new(*key).unwrap(), CString::new(*value).unwrap());
            // SAFETY: all pointers are valid for the call, which copies the strings.
            let code = unsafe {
                sys::vmaf_feature_dictionary_set(&raw mut dictionary, key.as_ptr(), value.as_ptr())
            };
            assert_eq!(code, 0);
        }
        let extractor = CString::new(extractor).unwrap();
        // SAFETY: the name is valid for the call, and libvmaf takes ownership of the dictionary.
        assert_eq!(unsafe { sys::vmaf_use_feature(context, extractor.as_ptr(), dictionary) }, 0);
        Self(context)
    }

    pub(crate) fn read(&self, reference: &Luma, distorted: &Luma, index: usize) {
        self.read_filled([Picture::new(reference), Picture::new(distorted)], index);
    }

    /// The reference and the distorted picture.
    pub(crate) fn read_filled(&self, [mut reference, mut distorted]: [Picture; 2], index: usize) {
        let index = u32::try_from(index).unwrap();
        // SAFETY: libvmaf takes ownership of both pictures, which it allocated.
        let code =
            unsafe { sys::vmaf_read_pictures(self.0, &raw mut reference.0, &raw mut distorted.0, index) };
        assert_eq!(code, 0);
    }

    pub(crate) fn flush(&self) {
        // SAFETY: null pointers mean the end of the clip.
        assert_eq!(unsafe { sys::vmaf_read_pictures(self.0, ptr::null_mut(), ptr::null_mut(), 0) }, 0);
    }

    pub(crate) fn feature(&self, name: &str, index: usize) -> f64 {
        let (c_name, index) = (CString::new(name).unwrap(), u32::try_from(index).unwrap());
        let mut value = f64::NAN;
        // SAFETY: all pointers are valid for the call.
        let code =
            unsafe { sys::vmaf_feature_score_at_index(self.0, c_name.as_ptr(), &raw mut value, index) };
        assert_eq!(code, 0, "{name} of frame {index}");
        value
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: this is the last use of the context.
        unsafe { sys::vmaf_close(self.0) };
    }
}

/// A picture for one reading, after which libvmaf owns it.
pub(crate) struct Picture(sys::VmafPicture);

impl Picture {
    pub(crate) fn new(luma: &Luma) -> Self {
        // SAFETY: libvmaf represents an empty picture by zeroes and null pointers.
        let mut picture: sys::VmafPicture = unsafe { std::mem::zeroed() };
        let (width, height) = (u32::try_from(luma.width).unwrap(), u32::try_from(luma.height).unwrap());
        let format = sys::VmafPixelFormat_VMAF_PIX_FMT_YUV400P;
        // SAFETY: `picture` is valid for the call.
        let code = unsafe { sys::vmaf_picture_alloc(&raw mut picture, format, luma.depth, width, height) };
        assert_eq!(code, 0);
        let stride = usize::try_from(picture.stride[0]).unwrap();
        // SAFETY: libvmaf allocated and cleared `stride * height` bytes, and nothing else refers to them.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(picture.data[0].cast::<u8>(), stride * luma.height) };
        for (row, samples) in bytes.chunks_exact_mut(stride).zip(luma.samples.chunks_exact(luma.width)) {
            if luma.depth == 8 {
                for (byte, sample) in row.iter_mut().zip(samples) {
                    *byte = u8::try_from(*sample).unwrap();
                }
            } else {
                for (bytes, sample) in row.chunks_exact_mut(2).zip(samples) {
                    bytes.copy_from_slice(&sample.to_ne_bytes());
                }
            }
        }
        Self(picture)
    }
}
