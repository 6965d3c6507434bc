//! Why there is no image.

use std::io;
use std::path::PathBuf;

/// Why an image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A file that should go into the image.
    #[error("{} cannot be put into the image", .path.display())]
    Input {
        /// The file, as the image calls it.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The image itself.
    #[error("the image {} cannot be written", .path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A part of an image that was written before.
    #[error("{} is not a part of an image", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: io::Error,
    },
    /// The libraries of a program.
    #[error("the libraries of {} cannot be put into the image", .program.display())]
    Libraries {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: crate::closure::ClosureError,
    },
}
