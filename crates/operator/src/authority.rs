//! A certificate authority of the operator: its generation, rotation and storage.
//!
//! | module          | holds                                                                      |
//! |-----------------|----------------------------------------------------------------------------|
//! | [`ca`]          | certificates of authorities, servers and clients                           |
//! | [`authorities`] | the authorities that a Secret stores, and the steps of their rotation      |
//! | [`store`]       | reads and writes the Secret, and performs the steps that are due           |
//! | [`clock`]       | the clock by which all this happens                                        |
//!
//! The webhooks and the controller have an authority each: who may speak for the controller should not be able to
//! answer the API server.

pub mod authorities;
pub mod ca;
pub mod clock;
pub mod store;

pub use self::authorities::{AuthoritySet, RotationStep};
pub use self::ca::{CaError, CertificateUsage, SignedCertificate};
pub use self::clock::CertificateClock;
pub use self::store::{AuthorityStore, BundleState, PublishBundle, RotationError};
