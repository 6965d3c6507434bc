//! Models as artifacts of OCI registries.
//!
//! | module                      | holds                                                                            |
//! |-----------------------------|----------------------------------------------------------------------------------|
//! | [`mod@reference`], [`digest`] | how artifacts and repositories are named                                         |
//! | [`credentials`]             | credentials for registries, from docker's configuration                          |
//! | [`client`]                  | pull, push, tags: the few requests of the distribution protocol that models need |
//! | [`transport`]               | how one request is made; that of the node restricts addresses                    |
//! | [`manifest`], [`artifact`]  | artifacts and their manifests, parsed and written                                |
//! | [`checkpoint`]              | the metadata of a trained model                                                  |
//!
//! Nothing that a registry sends is trusted: every body is bounded, every blob and every pinned manifest is verified
//! against its digest, a token is sent only to the registry it was issued for, and TLS is omitted only where the
//! settings permit it.

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

pub use artifact::{Artifact, ArtifactLayer};
pub use client::{BlobReader, RegistryClient, RegistryLimits};
pub use credentials::RegistryCredentials;
pub use digest::Digest;
pub use error::{OciError, RegistryFailure};
pub use manifest::{Descriptor, Manifest, ManifestError};
pub use reference::{ArtifactReference, ReferenceError, Repository};
pub use transport::{DirectTransport, GuardedTransport, Transport, TransportError};
