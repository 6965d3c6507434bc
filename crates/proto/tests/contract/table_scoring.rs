//! `vmafx.v1` as existing peers use it, written by hand from the contract and never from our `.proto` file.
//!
//! For `ScoreOptions` and `Provenance` the contract gives names and numbers; their types are our decision (all but
//! that of `view_distance`) and are listed because they must not change either.

use crate::frozen::{FieldRow, Package};

pub(crate) const PACKAGE: Package = Package {
    name: "vmafx.v1",
    service: "VmafxScoring",
    methods: METHODS,
    fields: FIELDS,
    empty: &["HealthRequest"],
    enums: ENUMS,
    reserved: &[("Provenance", 1, 33)],
};

#[rustfmt::skip]
const METHODS: &[(&str, &str)] = &[
    ("Score",       "(ScoreRequest) returns (ScoreResponse)"),
    ("ScoreStream", "(stream ScoreStreamRequest) returns (stream ScoreStreamResponse)"),
    ("Health",      "(HealthRequest) returns (HealthResponse)"),
];

#[rustfmt::skip]
const ENUMS: &[(&str, &[(&str, i32)])] = &[
    ("PixelFormat", &[
        ("PIXEL_FORMAT_UNSPECIFIED", 0),
        ("PIXEL_FORMAT_YUV420P",     1),
        ("PIXEL_FORMAT_YUV422P",     2),
        ("PIXEL_FORMAT_YUV444P",     3),
        ("PIXEL_FORMAT_YUV420P10LE", 4),
        ("PIXEL_FORMAT_YUV422P10LE", 5),
        ("PIXEL_FORMAT_YUV444P10LE", 6),
    ]),
];

#[rustfmt::skip]
const FIELDS: &[FieldRow] = &[
    ("ScoreRequest",  1, "reference",  "reference",  "string"),
    ("ScoreRequest",  2, "distorted",  "distorted",  "string"),
    ("ScoreRequest",  3, "model",      "model",      "string"),
    ("ScoreRequest",  4, "options",    "options",    "ScoreOptions"),
    ("ScoreResponse", 1, "score",      "score",      "double"),
    ("ScoreResponse", 2, "features",   "features",   "map<string, double>"),
    ("ScoreResponse", 3, "provenance", "provenance", "ScoreProvenance"),

    ("ScoreProvenance", 1, "library",          "library",         "Provenance"),
    ("ScoreProvenance", 2, "model",            "model",           "string"),
    ("ScoreProvenance", 3, "model_sha256",     "modelSha256",     "string"),
    ("ScoreProvenance", 4, "backend_used",     "backendUsed",     "string"),
    ("ScoreProvenance", 5, "feature_backends", "featureBackends", "repeated FeatureBackend"),
    ("ScoreProvenance", 6, "precision",        "precision",       "string"),
    ("FeatureBackend",  1, "extractor",        "extractor",       "string"),
    ("FeatureBackend",  2, "backend",          "backend",         "string"),

    ("HealthResponse", 1, "ok",      "ok",      "bool"),
    ("HealthResponse", 2, "message", "message", "string"),

    ("StreamConfig", 1, "width",            "width",          "uint32"),
    ("StreamConfig", 2, "height",           "height",         "uint32"),
    ("StreamConfig", 3, "pixel_format",     "pixelFormat",    "PixelFormat"),
    ("StreamConfig", 4, "model",            "model",          "string"),
    ("StreamConfig", 5, "frame_count_hint", "frameCountHint", "uint32"),
    ("FramePair",    1, "frame_index",      "frameIndex",     "uint32"),
    ("FramePair",    2, "raw_reference",    "rawReference",   "bytes"),
    ("FramePair",    3, "raw_distorted",    "rawDistorted",   "bytes"),

    ("ScoreStreamRequest", 1, "config",     "config",    "oneof payload StreamConfig"),
    ("ScoreStreamRequest", 2, "frame_pair", "framePair", "oneof payload FramePair"),

    ("FrameScore",     1, "frame_index",      "frameIndex",      "uint32"),
    ("FrameScore",     2, "score",            "score",           "double"),
    ("FrameScore",     3, "features",         "features",        "map<string, double>"),
    ("AggregateScore", 1, "frames_processed", "framesProcessed", "uint32"),
    ("AggregateScore", 2, "score",            "score",           "double"),
    ("AggregateScore", 3, "features",         "features",        "map<string, double>"),
    ("AggregateScore", 4, "elapsed_ms",       "elapsedMs",       "uint64"),
    ("AggregateScore", 5, "provenance",       "provenance",      "ScoreProvenance"),

    ("ScoreStreamResponse", 1, "frame_score", "frameScore", "oneof payload FrameScore"),
    ("ScoreStreamResponse", 2, "aggregate",   "aggregate",  "oneof payload AggregateScore"),

    ("ScoreOptions", 1,  "width",             "width",           "uint32"),
    ("ScoreOptions", 2,  "height",            "height",          "uint32"),
    ("ScoreOptions", 3,  "pixel_format",      "pixelFormat",     "PixelFormat"),
    ("ScoreOptions", 4,  "bitdepth",          "bitdepth",        "uint32"),
    ("ScoreOptions", 10, "disable_clip",      "disableClip",     "bool"),
    ("ScoreOptions", 11, "enable_transform",  "enableTransform", "bool"),
    ("ScoreOptions", 12, "backend",           "backend",         "string"),
    ("ScoreOptions", 13, "device",            "device",          "int32"),
    ("ScoreOptions", 14, "threads",           "threads",         "uint32"),
    ("ScoreOptions", 15, "subsample",         "subsample",       "uint32"),
    ("ScoreOptions", 16, "frame_cnt",         "frameCnt",        "uint32"),
    ("ScoreOptions", 17, "frame_skip_ref",    "frameSkipRef",    "uint32"),
    ("ScoreOptions", 18, "frame_skip_dist",   "frameSkipDist",   "uint32"),
    ("ScoreOptions", 19, "no_prediction",     "noPrediction",    "bool"),
    ("ScoreOptions", 20, "cpumask",           "cpumask",         "uint64"),
    ("ScoreOptions", 21, "gpumask",           "gpumask",         "uint64"),
    ("ScoreOptions", 22, "feature",           "feature",         "repeated string"),
    ("ScoreOptions", 23, "aom_ctc",           "aomCtc",          "string"),
    ("ScoreOptions", 24, "nflx_ctc",          "nflxCtc",         "string"),
    ("ScoreOptions", 30, "tiny_model",        "tinyModel",       "string"),
    ("ScoreOptions", 31, "tiny_device",       "tinyDevice",      "string"),
    ("ScoreOptions", 32, "tiny_threads",      "tinyThreads",     "uint32"),
    ("ScoreOptions", 33, "tiny_fp16",         "tinyFp16",        "bool"),
    ("ScoreOptions", 34, "tiny_model_verify", "tinyModelVerify", "bool"),
    ("ScoreOptions", 35, "tiny_codec",        "tinyCodec",       "string"),
    ("ScoreOptions", 36, "tiny_preset",       "tinyPreset",      "string"),
    ("ScoreOptions", 37, "tiny_crf",          "tinyCrf",         "int32"),
    ("ScoreOptions", 38, "tiny_resize",       "tinyResize",      "string"),
    ("ScoreOptions", 39, "no_reference",      "noReference",     "bool"),
    ("ScoreOptions", 40, "precision",         "precision",       "string"),
    ("ScoreOptions", 50, "view_distance",     "viewDistance",    "double"),
    ("ScoreOptions", 51, "display_height",    "displayHeight",   "uint32"),
    ("ScoreOptions", 52, "target_width",      "targetWidth",     "uint32"),
    ("ScoreOptions", 53, "target_height",     "targetHeight",    "uint32"),
    ("ScoreOptions", 54, "target_scaling",    "targetScaling",   "string"),

    ("Provenance", 100, "models",      "models",      "repeated string"),
    ("Provenance", 101, "features",    "features",    "repeated string"),
    ("Provenance", 102, "annotations", "annotations", "map<string, string>"),
];
