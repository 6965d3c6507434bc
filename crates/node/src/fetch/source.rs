//! Where bytes come from, whatever the protocol.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;

use super::Tools;
use super::error::Problem;
use super::objects::ObjectSource;
use super::rclone::RcloneSource;
use super::web::WebSource;
use crate::paths::{Address, Permit, Roots};

/// A file somewhere.
#[derive(Debug)]
pub(super) enum Source {
    Web(WebSource),
    Object(ObjectSource),
    Rclone(RcloneSource),
}

/// What a source says about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Bytes, if it says so.
    pub(crate) length: Option<u64>,
    /// What changes whenever the content does, if there is such a thing. Without it nothing is shared or resumed.
    pub(crate) version: Option<Version>,
}

/// What changes whenever the content does: a strong entity tag, or a time and a length.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Version(pub(crate) String);

/// The pieces of a file.
pub(crate) type Body = BoxStream<'static, Result<Bytes, Problem>>;

/// A file that has begun to arrive.
pub(crate) struct Opened {
    /// About the whole file.
    pub(crate) meta: Meta,
    /// Where the body begins: at what was asked for, or at 0.
    pub(crate) start: u64,
    pub(crate) body: Body,
}

impl Source {
    pub(super) fn new(
        tools: &Arc<Tools>,
        address: Address,
        roots: &Roots,
        permit: Permit,
    ) -> Result<Self, Problem> {
        match address {
            Address::Http(url) => Ok(Self::Web(WebSource::new(tools, *url, roots.clone(), permit.reach))),
            Address::Object(object) => Ok(Self::Object(ObjectSource::new(tools, &object)?)),
            Address::Rclone { remote, path } => Ok(Self::Rclone(RcloneSource::new(tools, &remote, &path))),
            Address::File(_) => Err(Problem::Settings("a local file is no download".to_owned())),
        }
    }

    /// Asks for the file from this byte on. With a version, the answer is of that version or an error.
    pub(super) async fn open(&self, from: u64, version: Option<&Version>) -> Result<Opened, Problem> {
        match self {
            Self::Web(source) => source.open(from, version).await,
            Self::Object(source) => source.open(from, version).await,
            Self::Rclone(source) => source.open(from, version).await,
        }
    }

    /// Asks what is there, without getting it.
    pub(super) async fn probe(&self) -> Result<Meta, Problem> {
        match self {
            Self::Web(source) => source.probe().await,
            Self::Object(source) => source.probe().await,
            Self::Rclone(source) => source.stat().await,
        }
    }
}
