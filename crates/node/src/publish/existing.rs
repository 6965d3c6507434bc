//! What is at the address of a report before it is written.

use std::fs::File;
use std::io::{self, Read as _};

use futures::StreamExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::local;
use crate::fetch::{Body, FetchProblem, Fetcher};
use crate::paths::{Address, ScoringRoots};
use vmafx_kit::egress::NetworkAccess;

pub(super) enum Existence {
    Present,
    Absent,
    /// It cannot be told; credentials that can only write may not look.
    Unknown(FetchProblem),
}

pub(super) async fn look(
    fetcher: &Fetcher,
    address: Address,
    roots: &ScoringRoots,
    access: NetworkAccess,
) -> Existence {
    let looked = match address {
        Address::File(path) => {
            let roots = roots.clone();
            let look = tokio::task::spawn_blocking(move || local::is_present(&path, &roots));
            return match tokio::time::timeout(fetcher.context().limits.headers, look).await {
                Ok(Ok(Ok(true))) => Existence::Present,
                Ok(Ok(Ok(false))) => Existence::Absent,
                _ => Existence::Unknown(FetchProblem::NotFound("its directory cannot be read".to_owned())),
            };
        }
        address => fetcher.probe(address, roots, access).await,
    };
    match looked {
        Ok(_) => Existence::Present,
        Err(FetchProblem::NotFound(_)) => Existence::Absent,
        Err(problem) => Existence::Unknown(problem),
    }
}

/// Whether what is at the address can be read and has these bytes.
pub(super) async fn has_content(
    fetcher: &Fetcher,
    address: Address,
    roots: &ScoringRoots,
    access: NetworkAccess,
    report: File,
) -> bool {
    let Ok(length) = report.metadata().map(|metadata| metadata.len()) else { return false };
    match address {
        Address::File(path) => {
            let roots = roots.clone();
            let compare = move || local::existing(&path, &roots).is_ok_and(|found| same_files(found, report));
            tokio::task::spawn_blocking(compare).await.unwrap_or(false)
        }
        address => match fetcher.open_existing(address, roots, access).await {
            Ok(found) if found.metadata.length.is_none_or(|found| found == length) => {
                same(found.body, tokio::fs::File::from_std(report)).await
            }
            _ => false,
        },
    }
}

fn same_files(one: File, other: File) -> bool {
    let bytes = |file| io::BufReader::new(file).bytes().map(Result::ok);
    let length = |file: &File| file.metadata().map(|metadata| metadata.len()).ok();
    // A byte that cannot be read equals none.
    length(&one) == length(&other)
        && bytes(one).zip(bytes(other)).all(|(one, other)| one.is_some() && one == other)
}

async fn same(mut chunks: Body, mut report: impl AsyncRead + Unpin) -> bool {
    let mut expected = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let Ok(chunk) = chunk else { return false };
        expected.resize(chunk.len(), 0);
        if report.read_exact(&mut expected).await.is_err() || chunk != expected {
            return false;
        }
    }
    matches!(report.read(&mut [0]).await, Ok(0))
}
