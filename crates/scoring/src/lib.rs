//! Scores video quality with libvmaf: from files to per-frame scores, pooled numbers and reports.
//!
//! ```text
//! clips ──input──▶ pictures ──engine──▶ scores per frame ──report──▶ table, JSON, CSV, HTML
//!                      └──────────── score: the whole, in order ───────────┘
//! ```
//!
//! | module      | does                                                                                        |
//! |-------------|---------------------------------------------------------------------------------------------|
//! | [`input`]   | finds out what a clip is and reads its frames: Y4M and raw YUV itself, the rest by `ffmpeg`   |
//! | [`engine`]  | libvmaf, safely: models, features, sessions; the only unsafe code is in `engine::ffi`         |
//! | [`score`]   | a comparison from beginning to end: plan, pairing, chunks, ladders, cancellation              |
//! | [`outcome`] | what a comparison found                                                                      |
//! | [`report`]  | pools and writes it                                                                          |
//! | [`picture`] | the shape of pictures, which all of the above share                                          |
//!
//! Scores are exact: the same bits for every number of threads and chunks, with and without vector instructions, alone
//! or in a ladder (`tests/scoring/{exact,chunks,ladder}.rs`). Nothing here may be built with `target-cpu=native`: fused
//! multiplications change bits.

pub mod engine;
pub mod input;
pub mod outcome;
pub mod picture;
pub mod report;
pub mod score;
