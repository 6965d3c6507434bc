//! The way to the API server.

/// Whether the request was never sent, because another operator may write.
pub fn refused_by_gate(_error: &kube::Error) -> bool {
    false
}
