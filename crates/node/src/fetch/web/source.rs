//! A file on a web server.

use std::sync::Arc;

use futures::StreamExt as _;
use reqwest::header::{IF_RANGE, RANGE};
use reqwest::{Method, Response, StatusCode};
use url::Url;

use super::answer::{describe, judge, redirect_target, resumable};
use super::of_client;
use crate::fetch::Tools;
use crate::fetch::error::Problem;
use crate::fetch::source::{Meta, Opened, Version};
use crate::paths::network::Reach;
use crate::paths::{Address, Redacted, Roots};

#[derive(Debug)]
pub(crate) struct WebSource {
    tools: Arc<Tools>,
    url: Url,
    roots: Roots,
    reach: Reach,
}

impl WebSource {
    pub(crate) fn new(tools: &Arc<Tools>, url: Url, roots: Roots, reach: Reach) -> Self {
        Self { tools: Arc::clone(tools), url, roots, reach }
    }

    /// Asks for the file from this byte on.
    pub(crate) async fn open(&self, from: u64, version: Option<&Version>) -> Result<Opened, Problem> {
        let part =
            version.and_then(resumable).filter(|_| from > 0).map(|tag| (format!("bytes={from}-"), tag));
        let answer = self.get(part.as_ref().map(|(range, tag)| (range.as_str(), Some(*tag)))).await?;
        let described = describe(answer.status(), answer.headers())?;
        let body = answer.bytes_stream().map(|piece| piece.map_err(|error| of_client(&error))).boxed();
        Ok(Opened { meta: described.meta, start: described.start, body })
    }

    /// Asks for the first byte alone. Not HEAD: a signed address is signed for GET.
    pub(crate) async fn probe(&self) -> Result<Meta, Problem> {
        let answer = self.get(Some(("bytes=0-0", None))).await;
        match answer {
            Ok(answer) => Ok(describe(answer.status(), answer.headers())?.meta),
            // An empty file has no first byte.
            Err(Problem::Changed) => Ok(Meta { length: None, version: None }),
            Err(problem) => Err(problem),
        }
    }

    /// Follows redirects inside the roots to a file.
    async fn get(&self, part: Option<(&str, Option<&str>)>) -> Result<Response, Problem> {
        let web = &self.tools.web;
        let (mut url, mut reach) = (self.url.clone(), self.reach);
        for _ in 0..=web.redirects {
            let mut request = web.request(Method::GET, &url, reach)?;
            if let Some((range, tag)) = part {
                request = request.header(RANGE, range);
                request = if let Some(tag) = tag { request.header(IF_RANGE, tag) } else { request };
            }
            let answer = web.send(request).await?;
            match redirect_target(&url, &answer) {
                None if matches!(answer.status(), StatusCode::OK | StatusCode::PARTIAL_CONTENT) => {
                    return Ok(answer);
                }
                None => return Err(judge(answer.status())),
                Some(target) => (url, reach) = self.hop(&target?)?,
            }
        }
        Err(Problem::TooManyRedirects(web.redirects))
    }

    /// Whether a redirect may be followed.
    fn hop(&self, target: &Url) -> Result<(Url, Reach), Problem> {
        let outside = || Problem::RedirectedOutside(Redacted(target.as_str()).to_string());
        let address = Address::parse(target.as_str()).map_err(|_| outside())?;
        let permit = self.roots.permit(&address, target.as_str()).map_err(|_| outside())?;
        match address {
            Address::Http(url) => Ok((*url, permit.reach)),
            _ => Err(outside()),
        }
    }
}
