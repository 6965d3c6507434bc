//! The only code that may be unsafe: owned handles over libvmaf's C API.
//!
//! What makes it sound. Facts about libvmaf were read in its sources (3.2.0 after `8fc71e30`), because its headers do
//! not say them:
//!
//! 1. **Pictures go back before their pool closes.** Closing a pool waits for every picture of it; a picture that
//!    outlives its pool would write into freed memory, one that is never returned would make the close wait for ever.
//!    So a [`Picture`] holds its pool, and a [`Context`] holds the pool of every picture it was given until it is closed
//!    itself, since it keeps the last two references and whatever its threads still work on.
//! 2. **`vmaf_read_pictures` takes a picture or leaves it.** It zeroes the structs it has taken, on any path; what is
//!    not zeroed after the call is still ours and is returned by `Drop`. Without that an extractor that fails would leave
//!    two pictures with nobody, and closing the pool would hang.
//! 3. **Nothing is registered after the first frame.** The threads size their tables by the number of extractors when
//!    they see their first frame; a later extractor would be written past the end.
//! 4. **At most 128 names.** libvmaf's table of feature names never grows beyond that, but it writes beyond it; see
//!    [`limits`].
//! 5. **A context is used by one thread at a time** (`&mut self`, [`Send`], not [`Sync`]). A pool may be used by many:
//!    it locks. Reference counts of pictures are atomic, so pictures may be dropped anywhere.
//! 6. **A model is read only** once it is loaded, therefore [`Sync`]; only validated JSON is loaded, because the parser
//!    of support vectors trusts its input (see `models::svm`).
//! 7. The mask of CPU features and the log level are **one per process** in libvmaf, not one per context: the last
//!    context that was made decides. Scores do not depend on the mask.

mod builtin;
mod context;
mod limits;
mod model;
mod picture;

use std::ffi::{CStr, CString, c_int};
use std::sync::Once;

pub(super) use builtin::BUILT_IN;
pub(super) use context::{Config, Context};
pub(super) use model::{Collection, Model};
pub use picture::{Picture, PicturePool, SharedPicture};

/// A call into libvmaf that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} returned {code}")]
pub struct Failure {
    /// The C function, or what it stands for.
    pub call: &'static str,
    /// What it returned: a negative error number.
    pub code: i32,
}

impl Failure {
    const INVALID: i32 = -22;
    const NO_MEMORY: i32 = -12;
    const FULL: &str = "the table of 128 names";

    /// Whether there were more names than a context can hold.
    pub(super) fn is_full(&self) -> bool {
        self.call == Self::FULL
    }

    /// Whether memory was short.
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

/// A C string; text with a NUL in it is refused.
fn c_string(call: &'static str, text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| Failure::invalid(call))
}

/// Keeps libvmaf from writing to standard error: it logs from the moment a model is loaded, before there is a context to
/// configure. Errors are returned anyway.
fn silence() {
    unsafe extern "C" {
        fn vmaf_set_log_level(level: vmaf_head_sys::VmafLogLevel);
    }
    static ONCE: Once = Once::new();
    // SAFETY: the declaration is that of libvmaf's src/log.h; it sets two plain variables, and `Once` keeps others out.
    ONCE.call_once(|| unsafe { vmaf_set_log_level(vmaf_head_sys::VmafLogLevel_VMAF_LOG_LEVEL_NONE) });
}

/// Version of libvmaf.
pub(super) fn version() -> String {
    // SAFETY: returns a string literal.
    let version = unsafe { CStr::from_ptr(vmaf_head_sys::vmaf_version()) };
    version.to_string_lossy().into_owned()
}
