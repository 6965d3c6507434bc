#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DownloadProgress {
    /// Bytes that have arrived.
    pub bytes: u64,
    /// Length of the file, if the source has declared it.
    pub of: Option<u64>,
}
