//! Where the clips of a job may lie.
//!
//! A job comes with its scoring roots; whatever is read or written for it lies below one of them, or is refused. The
//! controller has looked at the text of the addresses; what they lead to is only known here:
//!
//! | spelling that tries to get out                    | what stops it                                              |
//! |---------------------------------------------------|------------------------------------------------------------|
//! | `..`, also percent-encoded                        | [`Address`] refuses it                                     |
//! | a symbolic link                                   | [`local`] follows links by hand, never leaving the roots   |
//! | a path that is swapped after it was checked       | the walk that opens follows no link at all, from the root  |
//! | a FIFO, a device, a directory, a socket           | only a regular file is opened                              |
//! | `/proc` or `/sys` below a root                    | files of the kernel's own file systems are refused         |
//! | a redirect                                        | each hop is held against the roots again                   |
//! | a name that resolves to an address inside         | [`network`]: the address that is connected to is checked   |
//! | `:local:/etc`, `remote,option=…:` of rclone       | [`Address`] takes names of configured remotes only         |
//!
//! Other mounts below a root are followed: volumes of a Pod are mounts, and only an administrator can make one.

mod address;
pub mod local;
pub mod network;
mod redacted;
mod roots;

pub use address::{Address, AddressError, ObjectAddress, Store};
pub use redacted::Redacted;
pub use roots::{Permit, Roots};
