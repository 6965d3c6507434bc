//! Loaded models.

use std::ffi::{c_char, c_int};
use std::ptr::{self, NonNull};

use vmaf_head_sys as sys;

use super::{Failure, c_string, silence};

// From libvmaf's src/read_json_model.h. The public API reads built-in models by name and others by path; from memory,
// the bytes that were validated are the bytes that are used.
unsafe extern "C" {
    fn vmaf_read_json_model_from_buffer(
        model: *mut *mut sys::VmafModel,
        config: *mut sys::VmafModelConfig,
        data: *const c_char,
        length: c_int,
    ) -> c_int;
    fn vmaf_read_json_model_collection_from_buffer(
        model: *mut *mut sys::VmafModel,
        collection: *mut *mut sys::VmafModelCollection,
        config: *mut sys::VmafModelConfig,
        data: *const c_char,
        length: c_int,
    ) -> c_int;
}

/// A model.
#[derive(Debug)]
pub(in crate::engine) struct Model(NonNull<sys::VmafModel>);

// SAFETY: libvmaf only reads a loaded model (invariant 6); memory may be freed by any thread.
unsafe impl Send for Model {}
// SAFETY: the same.
unsafe impl Sync for Model {}

impl Model {
    /// Loads a model from JSON that was validated. `name` is the one its scores are kept under.
    pub(in crate::engine) fn load(json: &[u8], name: &str) -> Result<Self, Failure> {
        silence();
        let call = "vmaf_model_load";
        let (name, length) = (c_string(call, name)?, length(call, json)?);
        let mut config = sys::VmafModelConfig { name: name.as_ptr(), flags: 0 };
        let mut raw = ptr::null_mut();
        // SAFETY: all pointers are valid for the call, which copies what it keeps; `length` is that of `json`.
        let code = unsafe {
            vmaf_read_json_model_from_buffer(&raw mut raw, &raw mut config, json.as_ptr().cast(), length)
        };
        // Owned before the code is looked at: a parse that fails leaves a model behind.
        let model = NonNull::new(raw).map(Self);
        Failure::check(call, code)?;
        model.ok_or(Failure::invalid(call))
    }

    pub(super) fn as_ptr(&self) -> *mut sys::VmafModel {
        self.0.as_ptr()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: we own it, and contexts that were given it hold an `Arc`.
        unsafe { sys::vmaf_model_destroy(self.0.as_ptr()) };
    }
}

/// A bootstrap collection: the same model trained on resampled data, for a confidence interval.
#[derive(Debug)]
pub(in crate::engine) struct Collection {
    raw: NonNull<sys::VmafModelCollection>,
    members: usize,
}

// SAFETY: as for `Model`.
unsafe impl Send for Collection {}
// SAFETY: as for `Model`.
unsafe impl Sync for Collection {}

impl Collection {
    /// Loads the first model of a bootstrap file, which gives the score, and the others, which give the interval.
    /// `models` is how many there are in the file.
    pub(in crate::engine) fn load(json: &[u8], name: &str, models: usize) -> Result<(Model, Self), Failure> {
        silence();
        let call = "vmaf_model_collection_load";
        let (name, length) = (c_string(call, name)?, length(call, json)?);
        let mut config = sys::VmafModelConfig { name: name.as_ptr(), flags: 0 };
        let (mut model, mut collection) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: as in `Model::load`; both results were set to null before.
        let code = unsafe {
            vmaf_read_json_model_collection_from_buffer(
                &raw mut model,
                &raw mut collection,
                &raw mut config,
                json.as_ptr().cast(),
                length,
            )
        };
        let model = NonNull::new(model).map(Model);
        let collection = NonNull::new(collection).map(|raw| Self { raw, members: models });
        Failure::check(call, code)?;
        model.zip(collection).ok_or(Failure::invalid(call))
    }

    /// At least the number of its members.
    pub(super) fn members(&self) -> usize {
        self.members
    }

    pub(super) fn as_ptr(&self) -> *mut sys::VmafModelCollection {
        self.raw.as_ptr()
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        // SAFETY: we own it; it owns its members.
        unsafe { sys::vmaf_model_collection_destroy(self.raw.as_ptr()) };
    }
}

fn length(call: &'static str, json: &[u8]) -> Result<c_int, Failure> {
    c_int::try_from(json.len()).map_err(|_| Failure::invalid(call))
}
