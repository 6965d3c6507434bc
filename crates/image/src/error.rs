use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("cannot add {} to the image", .path.display())]
    Input {
        /// The path within the image.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write the image {}", .path.display())]
    Output {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is not a valid part of an image", .path.display())]
    Damaged {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot add the libraries of {} to the image", .program.display())]
    Libraries {
        program: PathBuf,
        #[source]
        source: crate::libraries::LibraryError,
    },
}
