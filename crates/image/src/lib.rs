//! Container images from files, without a daemon and without a base image.
//!
//! | module        | holds                                                                     |
//! |---------------|---------------------------------------------------------------------------|
//! | [`tree`]      | the files of a layer, and the tar file made from them                     |
//! | [`layout`]    | a directory in OCI image layout: layers, images, what is attached to them |
//! | [`archive`]   | the tar file of one image, which containerd and docker load               |
//! | [`image`]     | an image of one layer in one call, for tests                              |
//! | [`elf`]       | the libraries that an ELF file names                                      |
//! | [`libraries`] | where those are, and all that they need                                   |
//! | [`unpack`]    | an image as a directory, to inspect or to run                             |
//!
//! The same input gives the same bytes, hence the same digest: entries are sorted, owned by root and have modification
//! time 0, compressed files have neither time nor name, and the only date is the one that the caller sets.

pub mod archive;
pub mod elf;
mod error;
mod hash;
pub mod image;
pub mod layout;
pub mod libraries;
pub mod tree;
pub mod unpack;

pub use error::ImageError;
pub use image::Image;
pub use layout::{Descriptor, ImageConfig, ImageLayer, ImageLayout, LayerCompression};
pub use libraries::{LibraryClosure, LibraryResolver};
pub use tree::LayerTree;
