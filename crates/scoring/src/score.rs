//! Compares clips: from files to per-frame scores.
//!
//! | module          | purpose                                                                               |
//! |-----------------|---------------------------------------------------------------------------------------|
//! | `request`       | holds what is to be compared, and how                                                 |
//! | `plan`          | decides in which format clips are compared, and what to warn of; pure                 |
//! | `chunk`         | cuts a clip into chunks that are scored separately, and merges their scores; pure     |
//! | `lengths`       | decides which lengths may be compared; pure                                           |
//! | `feed`          | reads frames into pictures, ahead of time where that helps                            |
//! | `pass`          | scores one chunk of a reference and its distorted clips                               |
//! | `scored_clip`   | holds the scores, lengths and shots of one clip of a pass                             |
//! | `digests`       | computes the digests of the inputs beside the scoring                                 |
//! | `worst_moments` | reads the worst moments again, for their pictures                                     |
//! | `assemble`      | builds the outcome of a comparison                                                    |
//! | `cancel`        | stops a comparison from another thread                                                |
//! | `run`           | calls all of the above in order                                                       |

mod assemble;
mod cancel;
pub mod chunk;
mod digests;
mod error;
mod feed;
mod lengths;
mod pass;
pub mod plan;
mod progress;
mod request;
mod run;
mod scored_clip;
mod worst_moments;

pub use error::ScoreError;
pub use lengths::FrameCount;
pub use progress::ProgressObserver;
pub use request::Request;
pub use run::run;
