//! Models that libvmaf has loaded.

use std::ffi::{c_char, c_int};
use std::ptr::{self, NonNull};

use vmaf_head_sys as sys;

use super::{LibvmafError, c_string, silence};

// From libvmaf's src/read_json_model.h. The public API loads built-in models by name and others by path; only loading from
// memory guarantees that the validated bytes are the ones that are used.
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

#[derive(Debug)]
pub(in crate::engine) struct ModelHandle(NonNull<sys::VmafModel>);

// SAFETY: libvmaf only reads a loaded model (invariant 6); memory may be freed by any thread.
unsafe impl Send for ModelHandle {}
// SAFETY: the same.
unsafe impl Sync for ModelHandle {}

impl ModelHandle {
    /// Loads a model from validated JSON. Its scores are stored under `name`.
    pub(in crate::engine) fn load(json: &[u8], name: &str) -> Result<Self, LibvmafError> {
        silence();
        let call = "vmaf_model_load";
        let (name, length) = (c_string(call, name)?, length(call, json)?);
        let mut config = sys::VmafModelConfig { name: name.as_ptr(), flags: 0 };
        let mut raw = ptr::null_mut();
        // SAFETY: all pointers are valid for the call, which copies the data; `length` is the length of `json`.
        let code = unsafe {
            vmaf_read_json_model_from_buffer(&raw mut raw, &raw mut config, json.as_ptr().cast(), length)
        };
        // Owned before the code is checked, because a parse that fails leaves a model behind.
        let model = NonNull::new(raw).map(Self);
        LibvmafError::check(call, code)?;
        model.ok_or(LibvmafError::invalid(call))
    }

    pub(super) fn as_ptr(&self) -> *mut sys::VmafModel {
        self.0.as_ptr()
    }
}

impl Drop for ModelHandle {
    fn drop(&mut self) {
        // SAFETY: owned here; contexts that use it hold an `Arc`.
        unsafe { sys::vmaf_model_destroy(self.0.as_ptr()) };
    }
}

/// A bootstrap collection: the same model trained on resampled data, for a confidence interval.
#[derive(Debug)]
pub(in crate::engine) struct CollectionHandle {
    raw: NonNull<sys::VmafModelCollection>,
    members: usize,
}

// SAFETY: as for `ModelHandle`.
unsafe impl Send for CollectionHandle {}
// SAFETY: as for `ModelHandle`.
unsafe impl Sync for CollectionHandle {}

impl CollectionHandle {
    /// Loads the first model of a bootstrap file, which gives the score, and the others, which give the interval. `models` is
    /// the number of models in the file.
    pub(in crate::engine) fn load(
        json: &[u8],
        name: &str,
        models: usize,
    ) -> Result<(ModelHandle, Self), LibvmafError> {
        silence();
        let call = "vmaf_model_collection_load";
        let (name, length) = (c_string(call, name)?, length(call, json)?);
        let mut config = sys::VmafModelConfig { name: name.as_ptr(), flags: 0 };
        let (mut model, mut collection) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: as in `ModelHandle::load`; both results are initialised with null.
        let code = unsafe {
            vmaf_read_json_model_collection_from_buffer(
                &raw mut model,
                &raw mut collection,
                &raw mut config,
                json.as_ptr().cast(),
                length,
            )
        };
        let model = NonNull::new(model).map(ModelHandle);
        let collection = NonNull::new(collection).map(|raw| Self { raw, members: models });
        LibvmafError::check(call, code)?;
        model.zip(collection).ok_or(LibvmafError::invalid(call))
    }

    /// An upper bound of the number of members.
    pub(super) fn members(&self) -> usize {
        self.members
    }

    pub(super) fn as_ptr(&self) -> *mut sys::VmafModelCollection {
        self.raw.as_ptr()
    }
}

impl Drop for CollectionHandle {
    fn drop(&mut self) {
        // SAFETY: owned here; the collection owns its members.
        unsafe { sys::vmaf_model_collection_destroy(self.raw.as_ptr()) };
    }
}

fn length(call: &'static str, json: &[u8]) -> Result<c_int, LibvmafError> {
    c_int::try_from(json.len()).map_err(|_| LibvmafError::invalid(call))
}
