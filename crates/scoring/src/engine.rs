//! libvmaf behind a safe face: models, what they need, and sessions that compute it.
//!
//! Layers, each knowing only the one before it: `ffi` owns what C allocates; `features` knows libvmaf's extractors and
//! how it names what they find; `models` reads model files and says which features they need; [`session`] feeds frames
//! and takes scores.

mod error;
mod features;
#[allow(unsafe_code)] // The one module that talks to C; its invariants are written down there.
mod ffi;
pub mod models;
pub mod session;

pub use error::EngineError;
pub use ffi::{Failure, Picture, PicturePool, SharedPicture};

/// Version of libvmaf.
pub fn version() -> String {
    ffi::version()
}
