//! A file to download, whatever the protocol.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;

use super::FetchContext;
use super::error::FetchProblem;
use super::objects::ObjectSource;
use super::rclone::RcloneSource;
use super::web::WebSource;
use crate::paths::{Address, ScoringRoots};
use vmafx_kit::egress::NetworkAccess;

#[derive(Debug)]
pub(super) enum Source {
    Web(WebSource),
    Object(ObjectSource),
    Rclone(RcloneSource),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileMetadata {
    /// Declared length in bytes.
    pub(crate) length: Option<u64>,
    /// Without a version nothing is shared or resumed.
    pub(crate) version: Option<FileVersion>,
}

/// Changes whenever the content does: a strong entity tag, or a time and a length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileVersion(pub(crate) String);

/// The chunks of a file.
pub(crate) type Body = BoxStream<'static, Result<Bytes, FetchProblem>>;

/// A file whose first bytes have arrived.
pub(crate) struct OpenedSource {
    /// Of the whole file, also if the body is a part of it.
    pub(crate) metadata: FileMetadata,
    /// Offset of the body in the file: the one that was requested, or 0.
    pub(crate) start: u64,
    pub(crate) body: Body,
}

impl Source {
    pub(super) fn new(
        context: &Arc<FetchContext>,
        address: Address,
        roots: &ScoringRoots,
        access: NetworkAccess,
    ) -> Result<Self, FetchProblem> {
        match address {
            Address::Http(url) => Ok(Self::Web(WebSource::new(context, *url, roots.clone(), access))),
            Address::Object(object) => Ok(Self::Object(ObjectSource::new(context, &object)?)),
            Address::Rclone { remote, path } => Ok(Self::Rclone(RcloneSource::new(context, &remote, &path))),
            Address::File(_) => Err(FetchProblem::Settings("a local file is not downloaded".to_owned())),
        }
    }

    /// Requests the file from this byte on. With a version, the response is of that version or an error.
    pub(super) async fn open(
        &self,
        from: u64,
        version: Option<&FileVersion>,
    ) -> Result<OpenedSource, FetchProblem> {
        match self {
            Self::Web(source) => source.open(from, version).await,
            Self::Object(source) => source.open(from, version).await,
            Self::Rclone(source) => source.open(from, version).await,
        }
    }

    /// Requests the metadata only.
    pub(super) async fn probe(&self) -> Result<FileMetadata, FetchProblem> {
        match self {
            Self::Web(source) => source.probe().await,
            Self::Object(source) => source.probe().await,
            Self::Rclone(source) => source.stat().await,
        }
    }
}
