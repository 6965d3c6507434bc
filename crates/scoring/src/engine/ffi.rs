//! Owned handles for libvmaf's C API: the only unsafe code of this crate.
//!
//! It is sound because of these invariants. What they assume about libvmaf was read in its sources (3.2.0 after `8fc71e30`),
//! because its headers do not document it:
//!
//! 1. **Pictures are returned before their pool closes.** Closing a pool waits for all of its pictures; a picture that
//!    outlives its pool would write into freed memory, and one that is never returned would block the close forever. So a
//!    [`Picture`] holds its pool, and a [`Context`] holds the pool of every picture that it was given until it is closed,
//!    because it keeps the last two references and the pictures that its threads work on.
//! 2. **`vmaf_read_pictures` takes ownership of a picture or not.** It zeroes the structs that it has taken, on every path; a
//!    struct that is not zeroed after the call is still owned here and returned by `Drop`. Otherwise an extractor that fails
//!    would leak two pictures, and closing the pool would hang.
//! 3. **Nothing is registered after the first frame.** The threads size their tables by the number of extractors at their
//!    first frame; a later extractor would be written past the end.
//! 4. **A context has at most 128 names.** libvmaf's table of feature names never grows beyond that, but libvmaf writes
//!    beyond it; see [`limits`].
//! 5. **A context is used by one thread at a time** (`&mut self`, [`Send`], not [`Sync`]). A pool may be used by several
//!    threads, because it locks. Reference counts of pictures are atomic, so pictures may be dropped by any thread.
//! 6. **A loaded model is only read**, therefore [`Sync`]; only validated JSON is loaded, because the parser of support
//!    vectors trusts its input (see `models::svm`).
//! 7. The CPU mask and the log level are **per process** in libvmaf, not per context: those of the context that was created
//!    last apply. Scores do not depend on the mask.

mod builtin;
mod context;
mod limits;
mod model;
mod picture;

use std::ffi::{CStr, CString, c_int};
use std::sync::Once;

pub(super) use builtin::BUILT_IN;
pub(super) use context::{Context, ContextConfig};
pub(super) use model::{CollectionHandle, ModelHandle};
pub(crate) use picture::PicturePlanes;
pub use picture::{Picture, PicturePool, SharedPicture};

/// A call of libvmaf that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} returned {code}")]
pub struct LibvmafError {
    /// The C function, or a description of what failed.
    pub call: &'static str,
    /// A negative error number.
    pub code: i32,
}

impl LibvmafError {
    const INVALID: i32 = -22;
    const NO_MEMORY: i32 = -12;
    const FULL: &str = "the table of 128 names";

    /// Whether the context has more names than it can hold.
    pub(super) fn is_full(&self) -> bool {
        self.call == Self::FULL
    }

    pub(super) fn is_out_of_memory(&self) -> bool {
        self.code == Self::NO_MEMORY
    }

    fn check(call: &'static str, code: c_int) -> Result<(), Self> {
        if code == 0 { Ok(()) } else { Err(Self { call, code }) }
    }

    fn invalid(call: &'static str) -> Self {
        Self { call, code: Self::INVALID }
    }
}

/// A C string; an error if the text contains a NUL.
fn c_string(call: &'static str, text: &str) -> Result<CString, LibvmafError> {
    CString::new(text).map_err(|_| LibvmafError::invalid(call))
}

/// Keeps libvmaf from writing to standard error. It logs as soon as a model is loaded, before there is a context to
/// configure. Errors are returned anyway.
fn silence() {
    unsafe extern "C" {
        fn vmaf_set_log_level(level: vmaf_head_sys::VmafLogLevel);
    }
    static ONCE: Once = Once::new();
    // SAFETY: the declaration is that of libvmaf's src/log.h; it sets two plain variables, and `Once` prevents concurrent calls.
    ONCE.call_once(|| unsafe { vmaf_set_log_level(vmaf_head_sys::VmafLogLevel_VMAF_LOG_LEVEL_NONE) });
}

pub(super) fn version() -> String {
    // SAFETY: returns a string literal.
    let version = unsafe { CStr::from_ptr(vmaf_head_sys::vmaf_version()) };
    version.to_string_lossy().into_owned()
}
