//! Which addresses a job may read and write.
//!
//! A job comes with its scoring roots, and every address that is not below one of them is refused. The controller has
//! checked the text of the addresses; what they lead to is known on the node only:
//!
//! | escape from the roots                             | what stops it                                              |
//! |---------------------------------------------------|------------------------------------------------------------|
//! | `..`, also percent-encoded                        | [`Address`] refuses it                                     |
//! | a symbolic link                                   | [`local`] follows links by hand, never leaving the roots   |
//! | a path that is swapped after it was checked       | the walk that opens the file follows no link at all        |
//! | a FIFO, a device, a directory, a socket           | only a regular file is opened                              |
//! | `/proc` or `/sys` below a root                    | files of the kernel's own file systems are refused         |
//! | a redirect                                        | each hop is checked against the roots                      |
//! | a host name that resolves to a private address    | [`vmafx_kit::egress`]: the connected address is checked    |
//! | `:local:/etc`, `remote,option=…:` of rclone       | [`Address`] accepts names of configured remotes only       |
//!
//! Other mounts below a root are followed: volumes of a Pod are mounts, and only an administrator can create one.

mod address;
pub mod local;
mod redacted_uri;
mod scoring_roots;

pub use address::{Address, AddressError, ObjectAddress, ObjectStoreKind};
pub use redacted_uri::RedactedUri;
pub use scoring_roots::ScoringRoots;
