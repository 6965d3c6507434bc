//! Models as artifacts of OCI registries.
//!
//! | module                      | holds                                                                            |
//! |-----------------------------|----------------------------------------------------------------------------------|
//! | [`mod@reference`], [`digest`] | how artifacts and repositories are named                                         |
//! | [`credentials`]             | who we are to a registry, as docker's configuration says                         |
//! | [`client`]                  | pull, push, tags: the few requests of the distribution protocol that models need |
//! | [`transport`]               | how one request is made; the node has its own, which is careful about addresses  |
//! | [`manifest`], [`artifact`]  | what lies in a registry, read and written                                        |
//! | [`checkpoint`]              | what a learned model says of itself                                              |
//!
//! Nothing that arrives is believed: every body is bounded, every blob and every pinned manifest is held against its
//! digest, a token is shown to the registry it is for and to nobody else, and TLS is left out only where it is allowed.

pub mod artifact;
mod challenge;
pub mod checkpoint;
pub mod client;
pub mod credentials;
pub mod digest;
pub mod error;
pub mod manifest;
pub mod reference;
pub mod transport;

pub use artifact::{Artifact, Layer};
pub use client::{BlobReader, Client, Limits};
pub use credentials::Credentials;
pub use digest::Digest;
pub use error::OciError;
pub use manifest::{Descriptor, Manifest, ManifestError};
pub use reference::{Reference, ReferenceError, Repository};
pub use transport::{Direct, Transport, TransportError};
