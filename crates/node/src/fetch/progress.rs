//! How far a download is.

/// Bytes that have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// So far.
    pub bytes: u64,
    /// In all, if the source has said so.
    pub of: Option<u64>,
}
