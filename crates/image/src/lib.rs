//! Container images from files, without a daemon and without a base image.
//!
//! | module      | holds                                                                        |
//! |-------------|------------------------------------------------------------------------------|
//! | [`tree`]    | what is in a layer, and the one tar file that it makes                       |
//! | [`layout`]  | a directory in OCI image layout: layers, images, what is attached to them    |
//! | [`archive`] | the tar file of one image, which containerd and docker load                  |
//! | [`image`]   | an image of one layer in one call, as tests want it                          |
//! | [`elf`]     | what a program says of the libraries that it needs                           |
//! | [`closure`] | where those are, and all that they need in turn                              |
//! | [`unpack`]  | an image as a directory, to look at or to run                                |
//!
//! The same input gives the same bytes, hence the same digest: entries are sorted, owned by root and dated to the
//! beginning of time, compressed files carry neither time nor name, and the only date is the one the caller gives.

pub mod archive;
pub mod closure;
pub mod elf;
mod error;
mod hash;
pub mod image;
pub mod layout;
pub mod tree;
pub mod unpack;

pub use closure::{Closure, Linker};
pub use error::ImageError;
pub use image::Image;
pub use layout::{Config, Descriptor, Layer, Layout, Packing};
pub use tree::Tree;
