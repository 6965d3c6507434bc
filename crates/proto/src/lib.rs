//! The gRPC contract: messages, clients and servers of both services, generated from `proto/`.
//!
//! What the messages mean is written in the `.proto` files and appears here as the types' documentation. This
//! crate adds nothing to the wire. [`convert`] is the only place that knows how the domain of `vmafx-job` is spelled on it.
//!
//! | invariant | guarded by |
//! |---|---|
//! | names and numbers that others speak never change | `tests/contract/frozen.rs` |
//! | our own fields stay out of the way of others' (100 and up) | `tests/contract/additions.rs` |
//! | what was released once is neither changed nor removed | `tests/contract/baseline.rs` |
//! | the numbers mean the bytes we think they mean | `tests/contract/wire.rs` |
//! | a session's secret is never printed | `tests/contract/secrets.rs` |
//!

pub mod convert;
mod redact;
pub mod refusal;

/// The job queue and the node registry, service `VmafxController`.
pub mod controller {
    /// Package `vmafx.controller.v1`.
    #[allow(missing_docs, clippy::all, clippy::pedantic)] // generated
    pub mod v1 {
        tonic::include_proto!("vmafx.controller.v1");
    }
}

/// Direct scoring, service `VmafxScoring`.
pub mod scoring {
    /// Package `vmafx.v1`.
    #[allow(missing_docs, clippy::all, clippy::pedantic)] // generated
    pub mod v1 {
        tonic::include_proto!("vmafx.v1");
    }
}

/// Descriptors of both packages as an encoded `google.protobuf.FileDescriptorSet`: what the reflection service
/// serves, and what tests compare with their tables.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("vmafx_descriptor");
