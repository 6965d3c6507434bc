//! libvmaf's scores of pictures, through its C API.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use vmaf_head_sys as sys;

use super::picture::{Picture, Subsampling};

/// The instruction sets that libvmaf may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    None,
    Avx2,
    Scalar,
}

impl Limit {
    fn cpumask(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Avx2 => 16 | 32,
            Self::Scalar => 0xff,
        }
    }
}

/// libvmaf keeps its mask of instruction sets in a variable of the process.
static MASK: Mutex<()> = Mutex::new(());

/// The scores of an extractor for pairs of pictures: for each pair one per name.
pub(crate) fn scores(
    extractor: &str,
    options: &[(&str, &str)],
    names: &[&str],
    limit: Limit,
    pairs: &[(&Picture, &Picture)],
) -> Vec<Vec<f64>> {
    let mut context = Context::new(extractor, options, limit);
    for (index, (reference, distorted)) in pairs.iter().enumerate() {
        context.read(reference, distorted, index.try_into().unwrap());
    }
    context.finish();
    let indices = 0..u32::try_from(pairs.len()).unwrap();
    indices.map(|index| names.iter().map(|name| context.score(name, index)).collect()).collect()
}

pub(crate) struct Context {
    context: *mut sys::VmafContext,
    _mask: std::sync::MutexGuard<'static, ()>,
}

impl Context {
    pub(crate) fn new(extractor: &str, options: &[(&str, &str)], limit: Limit) -> Self {
        let context = Self::without_extractor(limit);
        let mut dictionary = ptr::null_mut();
        for (name, value) in options {
            let (name, value) = (CString::new(*name).unwrap(), CString::new(*value).unwrap());
            // SAFETY: both strings end with 0 and are copied by libvmaf; the dictionary is created by the first call.
            let result = unsafe {
                sys::vmaf_feature_dictionary_set(&raw mut dictionary, name.as_ptr(), value.as_ptr())
            };
            assert_eq!(result, 0);
        }
        let name = CString::new(extractor).unwrap();
        // SAFETY: the context is open, the name ends with 0, and libvmaf takes the dictionary over.
        let result = unsafe { sys::vmaf_use_feature(context.context, name.as_ptr(), dictionary) };
        assert_eq!(result, 0, "{extractor}");
        context
    }

    /// A context that reads pictures and computes nothing.
    pub(crate) fn without_extractor(limit: Limit) -> Self {
        let guard = MASK.lock().unwrap_or_else(PoisonError::into_inner);
        let configuration = sys::VmafConfiguration {
            log_level: sys::VmafLogLevel_VMAF_LOG_LEVEL_NONE,
            n_threads: 0,
            n_subsample: 1,
            cpumask: limit.cpumask(),
            gpumask: 0,
        };
        let mut context = ptr::null_mut();
        // SAFETY: `context` is a valid place for the pointer that libvmaf returns.
        assert_eq!(unsafe { sys::vmaf_init(&raw mut context, configuration) }, 0);
        Self { context, _mask: guard }
    }

    pub(crate) fn read(&mut self, reference: &Picture, distorted: &Picture, index: u32) {
        let pictures = Self::allocate(reference, distorted);
        self.read_allocated(pictures, index);
    }

    /// Copies of both pictures for [`Self::read_allocated`].
    pub(crate) fn allocate(reference: &Picture, distorted: &Picture) -> [sys::VmafPicture; 2] {
        [allocate(reference), allocate(distorted)]
    }

    pub(crate) fn read_allocated(&mut self, mut pictures: [sys::VmafPicture; 2], index: u32) {
        let [reference, distorted] = &mut pictures;
        // SAFETY: the context is open, and libvmaf takes both pictures over, which it allocated.
        let result = unsafe { sys::vmaf_read_pictures(self.context, reference, distorted, index) };
        assert_eq!(result, 0);
    }

    pub(crate) fn finish(&mut self) {
        // SAFETY: the context is open; null pictures end the input.
        assert_eq!(unsafe { sys::vmaf_read_pictures(self.context, ptr::null_mut(), ptr::null_mut(), 0) }, 0);
    }

    pub(crate) fn score(&self, name: &str, index: u32) -> f64 {
        let text = CString::new(name).unwrap();
        let mut score = f64::NAN;
        // SAFETY: the context is open, the name ends with 0, and `score` is a valid place.
        let result =
            unsafe { sys::vmaf_feature_score_at_index(self.context, text.as_ptr(), &raw mut score, index) };
        assert_eq!(result, 0, "{name}");
        score
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is open and not used after this.
        unsafe { sys::vmaf_close(self.context) };
    }
}

fn allocate(picture: &Picture) -> sys::VmafPicture {
    let format = match picture.subsampling {
        Subsampling::Both => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV420P,
        Subsampling::Horizontal => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV422P,
        Subsampling::None => sys::VmafPixelFormat_VMAF_PIX_FMT_YUV444P,
    };
    let (width, height) = (picture.planes[0].width, picture.planes[0].height);
    // SAFETY: a `VmafPicture` of zeroes is a valid value: numbers and null pointers.
    let mut allocated: sys::VmafPicture = unsafe { std::mem::zeroed() };
    let (width, height) = (width.try_into().unwrap(), height.try_into().unwrap());
    // SAFETY: `allocated` is a valid place for the picture.
    let result = unsafe { sys::vmaf_picture_alloc(&raw mut allocated, format, picture.depth, width, height) };
    assert_eq!(result, 0);
    for (index, plane) in picture.planes.iter().enumerate() {
        let size = (allocated.w[index] as usize, allocated.h[index] as usize);
        assert_eq!(size, (plane.width, plane.height));
        for (y, row) in plane.samples.chunks_exact(plane.width).enumerate() {
            let offset = isize::try_from(y).unwrap() * allocated.stride[index];
            // SAFETY: libvmaf allocated `h` rows of at least `w` samples, `stride` bytes apart.
            unsafe {
                let start = allocated.data[index].byte_offset(offset);
                if picture.depth > 8 {
                    start.cast::<u16>().copy_from_nonoverlapping(row.as_ptr(), row.len());
                } else {
                    let row: Vec<u8> = row.iter().map(|&sample| u8::try_from(sample).unwrap()).collect();
                    start.cast::<u8>().copy_from_nonoverlapping(row.as_ptr(), row.len());
                }
            }
        }
    }
    allocated
}
