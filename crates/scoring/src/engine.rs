//! A safe interface to libvmaf: models, the features that they require, and sessions that compute them.
//!
//! The layers depend only on the ones before them: `ffi` owns what C allocates; `features` lists libvmaf's extractors and the
//! names of their outputs; `models` parses model files and tells which features they require; [`session`] feeds frames and
//! reads scores.

mod error;
mod features;
#[allow(unsafe_code)] // The only module that calls C; its invariants are listed there.
mod ffi;
pub mod models;
mod native;
pub mod session;

pub use error::EngineError;
pub(crate) use ffi::PicturePlanes;
pub use ffi::{LibvmafError, Picture, PicturePool, SharedPicture};
pub use native::{Engine, KernelError, KernelMismatch, NativeError, check_kernels};
pub use vmafx_kernels::InstructionSet;

/// Version of libvmaf.
pub fn version() -> String {
    ffi::version()
}

/// The value of [`session::SessionSetup::cpu_mask`] that leaves libvmaf this instruction set and those below it.
pub const fn cpu_mask_of(set: InstructionSet) -> u64 {
    match set {
        InstructionSet::Scalar => 63,
        InstructionSet::Avx2 => 48,
        _ => 0,
    }
}
