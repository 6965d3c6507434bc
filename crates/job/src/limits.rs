//! The bounds of every field. Lengths of texts are in characters, as in the schema of the custom resources.

pub const MAX_URI_LENGTH: usize = 4096;
pub const MAX_MODEL_LENGTH: usize = 1024;
/// Names of nodes, devices and parts of a resource's identity.
pub const MAX_NAME_LENGTH: usize = 253;
/// The name of a training run. With a version appended, it must still be a valid tag of an OCI registry.
pub const MAX_TRAINING_NAME_LENGTH: usize = 100;
/// Features that a job may ask for besides those of its model.
pub const MAX_REQUESTED_FEATURES: usize = 16;
pub const MAX_FRAME_STEP: u32 = 10_000;
/// Pixels a side of a headerless clip.
pub const MAX_RAW_SIDE: u32 = 65_535;
/// Pixels a side of the size at which clips are compared: four digits.
pub const MAX_SCALED_SIDE: u32 = 9_999;
/// Retries after lost attempts that a submitter may ask for.
pub const MAX_BACKOFF_LIMIT: u32 = 100;
pub const DEFAULT_BACKOFF_LIMIT: u32 = 3;
