//! The gRPC contract: messages, clients and servers of both services, generated from `proto/`.
//!
//! The `.proto` files document the messages; their comments are the documentation of the types here. [`convert`] is the
//! only place that converts between messages and the domain of `vmafx-job`.
//!
//! | invariant | guarded by |
//! |---|---|
//! | frozen names and numbers never change | `tests/contract/frozen.rs` |
//! | our own fields have numbers that cannot collide (100 and up) | `tests/contract/additions.rs` |
//! | a released name or number is neither changed nor removed | `tests/contract/baseline.rs` |
//! | messages have the bytes that the contract prescribes | `tests/contract/wire.rs` |
//! | a session's secret is never printed | `tests/contract/secrets.rs` |

pub mod convert;
mod redact;
pub mod refusal;

/// The job queue and the node registry, service `VmafxController`.
pub mod controller {
    /// Package `vmafx.controller.v1`.
    #[allow(clippy::all, clippy::pedantic)] // generated
    pub mod v1 {
        tonic::include_proto!("vmafx.controller.v1");
    }
}

/// Direct scoring, service `VmafxScoring`.
pub mod scoring {
    /// Package `vmafx.v1`.
    #[allow(clippy::all, clippy::pedantic)] // generated
    pub mod v1 {
        tonic::include_proto!("vmafx.v1");
    }
}

/// Descriptors of both packages as an encoded `google.protobuf.FileDescriptorSet`, for the reflection service and tests.
/// Metadata of a call of the operator: the namespace for whose tenant it calls.
pub const NAMESPACE_HEADER: &str = "vmafx-namespace";

pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("vmafx_descriptor");
