//! VmafxJob: one pair of clips to score.
//!
//! | file          | holds                                                              |
//! |---------------|--------------------------------------------------------------------|
//! | [`request`]   | the submission that a resource stands for: pure                    |
//! | [`plan`]      | what to do next, from the resource and the controller's word: pure |
//! | [`status`]    | what its status says: pure                                         |

pub mod plan;
pub mod request;
pub mod status;
