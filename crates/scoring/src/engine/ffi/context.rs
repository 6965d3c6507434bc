//! A context: extractors, the frames they are fed, and what they found.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use vmaf_head_sys as sys;

use super::limits::{MAX_NAMES, NAMES_OF_COLLECTION, NAMES_OF_MODEL, REFUSED_OPTIONS, names_of};
use super::model::{Collection, Model};
use super::picture::{PicturePool, SharedPicture, TINY};
use super::{Failure, c_string, silence};
use crate::outcome::Interval;

/// How a context works.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Config {
    /// Threads that extract, each a frame of its own; 0 extracts in the thread that feeds.
    pub(in crate::engine) threads: u32,
    /// Features of the CPU that are not to be used, by libvmaf's bits. Counts for the whole process.
    pub(in crate::engine) cpu_mask: u64,
}

/// A context.
pub(in crate::engine) struct Context {
    raw: NonNull<sys::VmafContext>,
    /// Pools of the pictures it was given (invariant 1). Dropped after `drop` has closed the context.
    pools: Vec<Arc<PicturePool>>,
    /// Models that the context points to.
    models: Vec<Arc<Model>>,
    /// Models whose scores were counted, and names of imports that were.
    scored: Vec<*const sys::VmafModel>,
    imports: Vec<String>,
    names: usize,
    started: bool,
}

// SAFETY: libvmaf keeps nothing that belongs to a thread (invariant 5).
unsafe impl Send for Context {}

/// Makes a bare context.
pub(super) fn init(config: Config) -> Result<NonNull<sys::VmafContext>, Failure> {
    let configuration = sys::VmafConfiguration {
        log_level: sys::VmafLogLevel_VMAF_LOG_LEVEL_NONE,
        n_threads: config.threads,
        n_subsample: 1,
        cpumask: config.cpu_mask,
        gpumask: 0,
    };
    let mut raw = ptr::null_mut();
    // SAFETY: `raw` is valid for the call. After an error it may point to freed memory and is not looked at.
    let code = unsafe { sys::vmaf_init(&raw mut raw, configuration) };
    Failure::check("vmaf_init", code)?;
    NonNull::new(raw).ok_or(Failure::invalid("vmaf_init"))
}

impl Context {
    /// A context without extractors.
    pub(in crate::engine) fn new(config: Config) -> Result<Self, Failure> {
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
            // A context with threads and no pool makes itself one of full-size pictures that nobody uses.
            let configuration = sys::VmafPictureConfiguration {
                pic_params: sys::VmafPictureConfiguration__bindgen_ty_1 {
                    w: TINY.width,
                    h: TINY.height,
                    bpc: TINY.depth.bits(),
                    pix_fmt: sys::VmafPixelFormat_VMAF_PIX_FMT_YUV420P,
                },
                pic_cnt: 1,
            };
            // SAFETY: the context is ours.
            let code = unsafe { sys::vmaf_preallocate_pictures(raw.as_ptr(), configuration) };
            Failure::check("vmaf_preallocate_pictures", code)?;
        }
        Ok(context)
    }

    /// Registers an extractor.
    pub(in crate::engine) fn use_feature(
        &mut self,
        extractor: &str,
        options: &[(String, String)],
    ) -> Result<(), Failure> {
        let call = "vmaf_use_feature";
        let names = names_of(extractor).ok_or(Failure::invalid(call))?;
        if options.iter().any(|(key, _)| REFUSED_OPTIONS.contains(&key.as_str())) {
            return Err(Failure::invalid(call));
        }
        self.register(call, names)?;
        let name = c_string(call, extractor)?;
        let mut dictionary = Dictionary(ptr::null_mut());
        for (key, value) in options {
            dictionary.set(key, value)?;
        }
        // SAFETY: the name lives for the call. The dictionary is given away: libvmaf frees it, also on failure, because
        // the extractor exists (`names_of` knows them all).
        let code = unsafe { sys::vmaf_use_feature(self.raw.as_ptr(), name.as_ptr(), dictionary.into_raw()) };
        Failure::check(call, code)
    }

    /// Registers what a model needs, the way libvmaf does it by itself. `extractors` are those that this will use.
    pub(in crate::engine) fn use_model(
        &mut self,
        model: &Arc<Model>,
        extractors: &[&str],
    ) -> Result<(), Failure> {
        let call = "vmaf_use_features_from_model";
        let names = extractors.iter().map(|extractor| names_of(extractor)).sum::<Option<usize>>();
        self.register(call, names.ok_or(Failure::invalid(call))?)?;
        self.models.push(Arc::clone(model));
        // SAFETY: the context keeps a pointer to the model, and we keep the model.
        let code = unsafe { sys::vmaf_use_features_from_model(self.raw.as_ptr(), model.as_ptr()) };
        Failure::check(call, code)
    }

    /// Makes room for the names of a model's scores; without it they cannot be asked for.
    pub(in crate::engine) fn expect_scores(
        &mut self,
        model: &Model,
        collection: Option<&Collection>,
    ) -> Result<(), Failure> {
        let members = collection.map_or(0, |collection| collection.members() + NAMES_OF_COLLECTION);
        self.register("vmaf_score_at_index", NAMES_OF_MODEL + members)?;
        self.scored.push(model.as_ptr());
        Ok(())
    }

    /// Makes room for a name whose values are computed elsewhere; without it they cannot be imported.
    pub(in crate::engine) fn expect_import(&mut self, name: &str) -> Result<(), Failure> {
        self.register("vmaf_import_feature_score", 1)?;
        self.imports.push(name.to_owned());
        Ok(())
    }

    /// Invariants 3 and 4.
    fn register(&mut self, call: &'static str, names: usize) -> Result<(), Failure> {
        if self.started {
            return Err(Failure::invalid(call));
        }
        if self.names + names > MAX_NAMES {
            return Err(Failure::invalid(Failure::FULL));
        }
        self.names += names;
        Ok(())
    }

    /// Feeds a pair of frames. Indices count up from 0, without holes where an extractor looks at neighbours.
    pub(in crate::engine) fn read(
        &mut self,
        mut reference: SharedPicture,
        mut distorted: SharedPicture,
        index: u32,
    ) -> Result<(), Failure> {
        self.started = true;
        for picture in [&reference, &distorted] {
            if !self.pools.iter().any(|pool| Arc::ptr_eq(pool, picture.pool())) {
                self.pools.push(Arc::clone(picture.pool()));
            }
        }
        // SAFETY: both are owned pictures, distinct handles even if they are the same picture; what libvmaf does not
        // take is dropped here (invariant 2), what it takes lives while its pool does, which we hold.
        let code = unsafe {
            sys::vmaf_read_pictures(self.raw.as_ptr(), reference.as_raw(), distorted.as_raw(), index)
        };
        Failure::check("vmaf_read_pictures", code)
    }

    /// Ends the clip: waits for the threads and computes what needed the last frame. Nothing can be fed after it.
    pub(in crate::engine) fn flush(&mut self) -> Result<(), Failure> {
        self.started = true;
        // SAFETY: two null pictures are libvmaf's way to say so.
        let code = unsafe { sys::vmaf_read_pictures(self.raw.as_ptr(), ptr::null_mut(), ptr::null_mut(), 0) };
        Failure::check("vmaf_read_pictures at the end", code)
    }

    /// Sets a value that was computed elsewhere.
    pub(in crate::engine) fn import(&mut self, name: &str, value: f64, index: u32) -> Result<(), Failure> {
        let call = "vmaf_import_feature_score";
        if !self.imports.iter().any(|expected| expected == name) {
            return Err(Failure::invalid(call));
        }
        let name = c_string(call, name)?;
        // SAFETY: the name is copied, and there is room for it.
        let code = unsafe { sys::vmaf_import_feature_score(self.raw.as_ptr(), name.as_ptr(), value, index) };
        Failure::check(call, code)
    }

    /// A value by the name that libvmaf keeps it under.
    pub(in crate::engine) fn feature(&self, name: &str, index: u32) -> Result<f64, Failure> {
        let call = "vmaf_feature_score_at_index";
        let name = c_string(call, name)?;
        let mut value = 0.0;
        // SAFETY: `value` is valid for the call, the name is only compared; libvmaf locks.
        let code = unsafe {
            sys::vmaf_feature_score_at_index(self.raw.as_ptr(), name.as_ptr(), &raw mut value, index)
        };
        Failure::check(call, code).map(|()| value)
    }

    /// The score of a model.
    pub(in crate::engine) fn score(&mut self, model: &Model, index: u32) -> Result<f64, Failure> {
        let call = "vmaf_score_at_index";
        if !self.scored.contains(&model.as_ptr().cast_const()) {
            return Err(Failure::invalid(call));
        }
        let mut score = 0.0;
        // SAFETY: all pointers are valid for the call; the model is only read.
        let code =
            unsafe { sys::vmaf_score_at_index(self.raw.as_ptr(), model.as_ptr(), &raw mut score, index) };
        Failure::check(call, code).map(|()| score)
    }

    /// The 95 % interval of a collection, which was counted with its model.
    pub(in crate::engine) fn interval(
        &mut self,
        model: &Model,
        collection: &Collection,
        index: u32,
    ) -> Result<Interval, Failure> {
        let call = "vmaf_score_at_index_model_collection";
        if !self.scored.contains(&model.as_ptr().cast_const()) {
            return Err(Failure::invalid(call));
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
        Failure::check(call, code)?;
        let p95 = score.bootstrap.ci.p95;
        Ok(Interval { low: p95.lo, high: p95.hi })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the last use. It waits for the threads and returns all pictures; pools and models are dropped after.
        unsafe { sys::vmaf_close(self.raw.as_ptr()) };
    }
}

/// Options of an extractor.
struct Dictionary(*mut sys::VmafFeatureDictionary);

impl Dictionary {
    fn set(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let call = "vmaf_feature_dictionary_set";
        let (key, value) = (c_string(call, key)?, c_string(call, value)?);
        // SAFETY: both are copied; the dictionary is made by the first call.
        let code = unsafe { sys::vmaf_feature_dictionary_set(&raw mut self.0, key.as_ptr(), value.as_ptr()) };
        Failure::check(call, code)
    }

    fn into_raw(mut self) -> *mut sys::VmafFeatureDictionary {
        std::mem::replace(&mut self.0, ptr::null_mut())
    }
}

impl Drop for Dictionary {
    fn drop(&mut self) {
        // SAFETY: ours unless given away, and then it is null, which is allowed.
        unsafe { sys::vmaf_feature_dictionary_free(&raw mut self.0) };
    }
}
