//! A context of libvmaf: extractors, and the values that they compute for the frames they are fed.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use vmaf_head_sys as sys;

use super::limits::{MAX_NAMES, NAMES_OF_COLLECTION, NAMES_OF_MODEL, REFUSED_OPTIONS, names_of};
use super::model::{CollectionHandle, ModelHandle};
use super::picture::{PicturePool, SharedPicture, TINY};
use super::{LibvmafError, c_string, silence};
use crate::outcome::ConfidenceInterval;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct ContextConfig {
    /// Threads that extract, each from another frame; with 0 the feeding thread extracts.
    pub(in crate::engine) threads: u32,
    /// CPU features that libvmaf must not use, as its bits. Applies to the whole process.
    pub(in crate::engine) cpu_mask: u64,
}

pub(in crate::engine) struct Context {
    raw: NonNull<sys::VmafContext>,
    /// Pools of the pictures that were fed (invariant 1). They are dropped after `drop` has closed the context.
    pools: Vec<Arc<PicturePool>>,
    /// Models to which the context has pointers.
    models: Vec<Arc<ModelHandle>>,
    /// Models and imports whose names were counted by [`Self::register`].
    scored: Vec<*const sys::VmafModel>,
    imports: Vec<String>,
    names: usize,
    started: bool,
}

// SAFETY: a context of libvmaf is not bound to a thread (invariant 5).
unsafe impl Send for Context {}

pub(super) fn init(config: ContextConfig) -> Result<NonNull<sys::VmafContext>, LibvmafError> {
    let configuration = sys::VmafConfiguration {
        log_level: sys::VmafLogLevel_VMAF_LOG_LEVEL_NONE,
        n_threads: config.threads,
        n_subsample: 1,
        cpumask: config.cpu_mask,
        gpumask: 0,
    };
    let mut raw = ptr::null_mut();
    // SAFETY: `raw` is valid for the call. After an error it may point to freed memory and is not used.
    let code = unsafe { sys::vmaf_init(&raw mut raw, configuration) };
    LibvmafError::check("vmaf_init", code)?;
    NonNull::new(raw).ok_or(LibvmafError::invalid("vmaf_init"))
}

impl Context {
    pub(in crate::engine) fn new(config: ContextConfig) -> Result<Self, LibvmafError> {
        silence();
        let raw = init(config)?;
        let context = Self {
            raw,
            pools: Vec::new(),
            models: Vec::new(),
            scored: Vec::new(),
            imports: Vec::new(),
            names: 0,
            started: false,
        };
        if config.threads > 0 {
            // A context with threads and without a pool allocates one of full-size pictures, which nothing would use.
            let configuration = sys::VmafPictureConfiguration {
                pic_params: sys::VmafPictureConfiguration__bindgen_ty_1 {
                    w: TINY.width,
                    h: TINY.height,
                    bpc: TINY.depth.bits(),
                    pix_fmt: sys::VmafPixelFormat_VMAF_PIX_FMT_YUV420P,
                },
                pic_cnt: 1,
            };
            // SAFETY: the context is owned here.
            let code = unsafe { sys::vmaf_preallocate_pictures(raw.as_ptr(), configuration) };
            LibvmafError::check("vmaf_preallocate_pictures", code)?;
        }
        Ok(context)
    }

    pub(in crate::engine) fn use_feature(
        &mut self,
        extractor: &str,
        options: &[(String, String)],
    ) -> Result<(), LibvmafError> {
        let call = "vmaf_use_feature";
        let names = names_of(extractor).ok_or(LibvmafError::invalid(call))?;
        if options.iter().any(|(key, _)| REFUSED_OPTIONS.contains(&key.as_str())) {
            return Err(LibvmafError::invalid(call));
        }
        self.register(call, names)?;
        let name = c_string(call, extractor)?;
        let mut dictionary = Dictionary(ptr::null_mut());
        for (key, value) in options {
            dictionary.set(key, value)?;
        }
        // SAFETY: the name is valid for the call. libvmaf takes ownership of the dictionary and frees it, also on failure,
        // because the extractor exists (`names_of` lists them all).
        let code = unsafe { sys::vmaf_use_feature(self.raw.as_ptr(), name.as_ptr(), dictionary.into_raw()) };
        LibvmafError::check(call, code)
    }

    /// Lets libvmaf register the extractors of a model, which are `extractors`.
    pub(in crate::engine) fn use_model(
        &mut self,
        model: &Arc<ModelHandle>,
        extractors: &[&str],
    ) -> Result<(), LibvmafError> {
        let call = "vmaf_use_features_from_model";
        let names = extractors.iter().map(|extractor| names_of(extractor)).sum::<Option<usize>>();
        self.register(call, names.ok_or(LibvmafError::invalid(call))?)?;
        self.models.push(Arc::clone(model));
        // SAFETY: the context keeps a pointer to the model, which `self.models` keeps alive.
        let code = unsafe { sys::vmaf_use_features_from_model(self.raw.as_ptr(), model.as_ptr()) };
        LibvmafError::check(call, code)
    }

    /// Reserves the names of a model's scores, without which they cannot be read.
    pub(in crate::engine) fn expect_scores(
        &mut self,
        model: &ModelHandle,
        collection: Option<&CollectionHandle>,
    ) -> Result<(), LibvmafError> {
        let members = collection.map_or(0, |collection| collection.members() + NAMES_OF_COLLECTION);
        self.register("vmaf_score_at_index", NAMES_OF_MODEL + members)?;
        self.scored.push(model.as_ptr());
        Ok(())
    }

    /// Reserves a name for imported values, without which they cannot be imported.
    pub(in crate::engine) fn expect_import(&mut self, name: &str) -> Result<(), LibvmafError> {
        self.register("vmaf_import_feature_score", 1)?;
        self.imports.push(name.to_owned());
        Ok(())
    }

    /// Enforces invariants 3 and 4.
    fn register(&mut self, call: &'static str, names: usize) -> Result<(), LibvmafError> {
        if self.started {
            return Err(LibvmafError::invalid(call));
        }
        if self.names + names > MAX_NAMES {
            return Err(LibvmafError::invalid(LibvmafError::FULL));
        }
        self.names += names;
        Ok(())
    }

    /// Feeds a pair of frames. Indices increase from 0, without gaps if an extractor depends on neighbours.
    pub(in crate::engine) fn read(
        &mut self,
        mut reference: SharedPicture,
        mut distorted: SharedPicture,
        index: u32,
    ) -> Result<(), LibvmafError> {
        self.started = true;
        for picture in [&reference, &distorted] {
            if !self.pools.iter().any(|pool| Arc::ptr_eq(pool, picture.pool())) {
                self.pools.push(Arc::clone(picture.pool()));
            }
        }
        // SAFETY: both are owned pictures with distinct handles, even if they are the same picture. A picture that libvmaf does
        // not take is dropped here (invariant 2); one that it takes lives as long as its pool, which `self.pools` holds.
        let code = unsafe {
            sys::vmaf_read_pictures(self.raw.as_ptr(), reference.as_raw(), distorted.as_raw(), index)
        };
        LibvmafError::check("vmaf_read_pictures", code)
    }

    /// Ends the clip: waits for the threads and computes the values that depend on the last frame. Nothing can be fed after it.
    pub(in crate::engine) fn flush(&mut self) -> Result<(), LibvmafError> {
        self.started = true;
        // SAFETY: libvmaf takes two null pictures as the end of the clip.
        let code = unsafe { sys::vmaf_read_pictures(self.raw.as_ptr(), ptr::null_mut(), ptr::null_mut(), 0) };
        LibvmafError::check("vmaf_read_pictures at the end", code)
    }

    pub(in crate::engine) fn import(
        &mut self,
        name: &str,
        value: f64,
        index: u32,
    ) -> Result<(), LibvmafError> {
        let call = "vmaf_import_feature_score";
        if !self.imports.iter().any(|expected| expected == name) {
            return Err(LibvmafError::invalid(call));
        }
        let name = c_string(call, name)?;
        // SAFETY: the name is copied, and its place is reserved.
        let code = unsafe { sys::vmaf_import_feature_score(self.raw.as_ptr(), name.as_ptr(), value, index) };
        LibvmafError::check(call, code)
    }

    /// A value by its stored name.
    pub(in crate::engine) fn feature(&self, name: &str, index: u32) -> Result<f64, LibvmafError> {
        let call = "vmaf_feature_score_at_index";
        let name = c_string(call, name)?;
        let mut value = 0.0;
        // SAFETY: `value` is valid for the call, the name is only compared; libvmaf locks.
        let code = unsafe {
            sys::vmaf_feature_score_at_index(self.raw.as_ptr(), name.as_ptr(), &raw mut value, index)
        };
        LibvmafError::check(call, code).map(|()| value)
    }

    pub(in crate::engine) fn score(&mut self, model: &ModelHandle, index: u32) -> Result<f64, LibvmafError> {
        let call = "vmaf_score_at_index";
        if !self.scored.contains(&model.as_ptr().cast_const()) {
            return Err(LibvmafError::invalid(call));
        }
        let mut score = 0.0;
        // SAFETY: all pointers are valid for the call; the model is only read.
        let code =
            unsafe { sys::vmaf_score_at_index(self.raw.as_ptr(), model.as_ptr(), &raw mut score, index) };
        LibvmafError::check(call, code).map(|()| score)
    }

    /// The 95 % interval of a collection, whose names were reserved with those of its model.
    pub(in crate::engine) fn interval(
        &mut self,
        model: &ModelHandle,
        collection: &CollectionHandle,
        index: u32,
    ) -> Result<ConfidenceInterval, LibvmafError> {
        let call = "vmaf_score_at_index_model_collection";
        if !self.scored.contains(&model.as_ptr().cast_const()) {
            return Err(LibvmafError::invalid(call));
        }
        let p95 =
            sys::VmafModelCollectionScore__bindgen_ty_1__bindgen_ty_1__bindgen_ty_1 { lo: 0.0, hi: 0.0 };
        let mut score = sys::VmafModelCollectionScore {
            type_: 0,
            bootstrap: sys::VmafModelCollectionScore__bindgen_ty_1 {
                bagging_score: 0.0,
                stddev: 0.0,
                ci: sys::VmafModelCollectionScore__bindgen_ty_1__bindgen_ty_1 { p95 },
            },
        };
        // SAFETY: all pointers are valid for the call; the collection is only read.
        let code = unsafe {
            sys::vmaf_score_at_index_model_collection(
                self.raw.as_ptr(),
                collection.as_ptr(),
                &raw mut score,
                index,
            )
        };
        LibvmafError::check(call, code)?;
        let p95 = score.bootstrap.ci.p95;
        Ok(ConfidenceInterval { low: p95.lo, high: p95.hi })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: this is the last use. It waits for the threads and returns all pictures; pools and models are dropped later.
        unsafe { sys::vmaf_close(self.raw.as_ptr()) };
    }
}

struct Dictionary(*mut sys::VmafFeatureDictionary);

impl Dictionary {
    fn set(&mut self, key: &str, value: &str) -> Result<(), LibvmafError> {
        let call = "vmaf_feature_dictionary_set";
        let (key, value) = (c_string(call, key)?, c_string(call, value)?);
        // SAFETY: both are copied; the first call allocates the dictionary.
        let code = unsafe { sys::vmaf_feature_dictionary_set(&raw mut self.0, key.as_ptr(), value.as_ptr()) };
        LibvmafError::check(call, code)
    }

    fn into_raw(mut self) -> *mut sys::VmafFeatureDictionary {
        std::mem::replace(&mut self.0, ptr::null_mut())
    }
}

impl Drop for Dictionary {
    fn drop(&mut self) {
        // SAFETY: owned here unless libvmaf took it; then it is null, which is allowed.
        unsafe { sys::vmaf_feature_dictionary_free(&raw mut self.0) };
    }
}
