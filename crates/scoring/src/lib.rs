//! Scores video quality with libvmaf: from files to per-frame scores, pooled numbers and reports.
//!
//! ```text
//! clips ──input──▶ pictures ──engine──▶ scores per frame ──report──▶ JSON, CSV, HTML, XML
//!   └────────────── score: the comparison in order ──────┘
//! ```
//!
//! | module      | purpose                                                                                       |
//! |-------------|-----------------------------------------------------------------------------------------------|
//! | [`input`]   | finds out what a clip is and reads its frames: Y4M and raw YUV itself, the rest with `ffmpeg` |
//! | [`engine`]  | a safe interface to libvmaf; the only unsafe code is in `engine::ffi`                         |
//! | [`score`]   | runs a comparison: plan, pairing, chunks, ladders, cancellation                               |
//! | [`shots`]   | finds the cuts of the reference                                                               |
//! | [`moments`] | makes pictures of the worst moments                                                           |
//! | [`outcome`] | the result of a comparison                                                                    |
//! | [`report`]  | pools the scores and writes reports                                                           |
//! | [`picture`] | the format of pictures, which all of the above share                                          |
//!
//! What users can ask for (features, options, report formats) is declared in `vmafx_job`.
//!
//! Scores are exact: they have the same bits for every number of threads and chunks, with and without vector instructions,
//! alone or in a ladder (`tests/scoring/{exact,chunks,ladder}.rs`). Nothing here may be built with `target-cpu=native`,
//! because fused multiplications change bits.

pub mod engine;
pub mod input;
pub mod moments;
pub mod outcome;
pub mod picture;
pub mod report;
pub mod score;
pub mod shots;
