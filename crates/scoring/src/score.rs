//! Compares clips: from files to per-frame scores.
//!
//! | module    | does                                                                                   |
//! |-----------|----------------------------------------------------------------------------------------|
//! | `request` | what somebody wants                                                                    |
//! | `plan`    | pure: in which shape clips are compared, by which models, and what to warn of          |
//! | `chunk`   | pure: how a clip is cut so that it can be scored in pieces, and put together again     |
//! | `feed`    | frames of a clip as pictures, read ahead where that helps                              |
//! | `pass`    | one sweep over a reference and its distorted clips                                     |
//! | `count`   | pure: which lengths may be compared                                                    |
//! | `cancel`  | ends all of it from outside                                                            |
//! | `run`     | the whole, in order                                                                    |

mod cancel;
pub mod chunk;
mod count;
mod digests;
mod error;
mod feed;
mod outcome;
mod pass;
pub mod plan;
mod progress;
mod request;
mod run;

pub use error::ScoreError;
pub use progress::Progress;
pub use request::Request;
pub use run::run;
