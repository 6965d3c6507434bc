//! Outgoing connections whose target somebody else chose: clips, models, token servers, redirects of registries and of key
//! endpoints.
//!
//! A user names a URL, and the owner of a DNS zone decides what its host resolves to; either could point at services that
//! only this machine can reach. So the IP address itself is checked, and the connection is made to the checked address
//! without a second look-up. A target that is refused is never connected to: no status, no body and no timing of it reaches
//! the user.
//!
//! | module     | holds                                                                       |
//! |------------|-----------------------------------------------------------------------------|
//! | `access`   | pure: which addresses a request may connect to                              |
//! | `hosts`    | pure: hosts of private networks that an administrator listed                |
//! | `resolver` | name resolution that returns permitted addresses only                       |
//! | `client`   | an HTTP client for each kind of access                                      |
//!
//! Proxies are taken from the environment. Behind one, it is the proxy that resolves and connects: literal addresses are
//! still checked here, but host names that resolve to private addresses are up to the proxy.

mod access;
mod client;
mod hosts;
mod resolver;

pub use access::NetworkAccess;
pub use client::{ClientOptions, GuardedClient, private_address};
pub use hosts::ListedHosts;
pub use resolver::{PrivateAddress, resolve};
