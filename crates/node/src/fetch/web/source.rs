//! A file on a web server.

use std::sync::Arc;

use futures::StreamExt as _;
use reqwest::header::{IF_RANGE, RANGE};
use reqwest::{Method, Response, StatusCode};
use url::Url;

use super::client_problem;
use super::response::{describe, redirect_target, resumable, status_problem};
use crate::fetch::FetchContext;
use crate::fetch::error::FetchProblem;
use crate::fetch::source::{FileMetadata, FileVersion, OpenedSource};
use crate::paths::{Address, RedactedUri, ScoringRoots};
use vmafx_kit::egress::NetworkAccess;

#[derive(Debug)]
pub(crate) struct WebSource {
    context: Arc<FetchContext>,
    url: Url,
    roots: ScoringRoots,
    access: NetworkAccess,
}

impl WebSource {
    pub(crate) fn new(
        context: &Arc<FetchContext>,
        url: Url,
        roots: ScoringRoots,
        access: NetworkAccess,
    ) -> Self {
        Self { context: Arc::clone(context), url, roots, access }
    }

    /// Requests the file from this byte on.
    pub(crate) async fn open(
        &self,
        from: u64,
        version: Option<&FileVersion>,
    ) -> Result<OpenedSource, FetchProblem> {
        let part =
            version.and_then(resumable).filter(|_| from > 0).map(|tag| (format!("bytes={from}-"), tag));
        let response = self.get(part.as_ref().map(|(range, tag)| (range.as_str(), Some(*tag)))).await?;
        let described = describe(response.status(), response.headers())?;
        let body = response.bytes_stream().map(|chunk| chunk.map_err(|error| client_problem(&error))).boxed();
        Ok(OpenedSource { metadata: described.metadata, start: described.start, body })
    }

    /// Requests the first byte alone. HEAD would not work, because a signed address is signed for GET.
    pub(crate) async fn probe(&self) -> Result<FileMetadata, FetchProblem> {
        let response = self.get(Some(("bytes=0-0", None))).await;
        match response {
            Ok(response) => Ok(describe(response.status(), response.headers())?.metadata),
            // The range is not satisfiable for an empty file.
            Err(FetchProblem::Changed) => Ok(FileMetadata { length: None, version: None }),
            Err(problem) => Err(problem),
        }
    }

    /// Follows redirects within the roots.
    async fn get(&self, part: Option<(&str, Option<&str>)>) -> Result<Response, FetchProblem> {
        let web = &self.context.web;
        let (mut url, mut access) = (self.url.clone(), self.access);
        for _ in 0..=web.redirects {
            let mut request = web.request(Method::GET, &url, access)?;
            if let Some((range, tag)) = part {
                request = request.header(RANGE, range);
                request = if let Some(tag) = tag { request.header(IF_RANGE, tag) } else { request };
            }
            let response = web.send(request).await?;
            match redirect_target(&url, &response) {
                None if matches!(response.status(), StatusCode::OK | StatusCode::PARTIAL_CONTENT) => {
                    return Ok(response);
                }
                None => return Err(status_problem(response.status())),
                Some(target) => (url, access) = self.hop(&target?)?,
            }
        }
        Err(FetchProblem::TooManyRedirects(web.redirects))
    }

    /// Checks the target of a redirect.
    fn hop(&self, target: &Url) -> Result<(Url, NetworkAccess), FetchProblem> {
        let outside = || FetchProblem::RedirectedOutside(RedactedUri(target.as_str()).to_string());
        let address = Address::parse(target.as_str()).map_err(|_| outside())?;
        let access = self.roots.permit(&address, target.as_str()).map_err(|_| outside())?;
        match address {
            Address::Http(url) => Ok((*url, access)),
            _ => Err(outside()),
        }
    }
}
