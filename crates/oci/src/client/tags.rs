//! The tags of a repository, page by page.

use std::collections::BTreeSet;

use reqwest::header::LINK;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use url::Url;

use super::response::RegistryAccess;
use super::session::{RegistryRequest, RegistrySession};
use crate::checkpoint::version_number;
use crate::error::OciError;

/// Requested page size.
const PAGE_SIZE: usize = 1000;
/// Some registries return only a hundred tags per page.
const MAX_PAGES: usize = 2000;
const MAX_TAGS: usize = 10_000;
const MAX_PAGE_BYTES: u64 = 4 << 20;

#[derive(Deserialize)]
struct TagPage {
    tags: Option<Vec<String>>,
}

impl RegistrySession<'_> {
    pub(super) async fn tags(&self) -> Result<Vec<String>, OciError> {
        let mut all = Vec::new();
        self.pages(|tags| {
            all.extend(tags);
            if all.len() > MAX_TAGS { Err(OciError::TooManyTags(MAX_TAGS)) } else { Ok(()) }
        })
        .await?;
        Ok(all)
    }

    pub(super) async fn versions(&self, name: &str, newest: usize) -> Result<Vec<u64>, OciError> {
        let mut kept = BTreeSet::new();
        self.pages(|tags| {
            for number in tags.iter().filter_map(|tag| version_number(name, tag)) {
                kept.insert(number);
                if kept.len() > newest {
                    kept.pop_first();
                }
            }
            Ok(())
        })
        .await?;
        Ok(kept.into_iter().collect())
    }

    /// Calls `take` with every page, in the registry's order.
    async fn pages(&self, mut take: impl FnMut(Vec<String>) -> Result<(), OciError>) -> Result<(), OciError> {
        let mut url = self.url(&format!("tags/list?n={PAGE_SIZE}"))?;
        for _ in 0..MAX_PAGES {
            let (tags, next) = self.retrying(|| self.page(&url)).await?;
            // A page without tags is the last one, even if it links to another.
            let last = tags.is_empty();
            take(tags)?;
            match next.filter(|_| !last) {
                None => return Ok(()),
                Some(next) if next == url => {
                    return Err(OciError::Protocol("its list of tags links to the same page again"));
                }
                Some(next) => url = next,
            }
        }
        Err(OciError::TooManyTags(MAX_PAGES * PAGE_SIZE))
    }

    async fn page(&self, url: &Url) -> Result<(Vec<String>, Option<Url>), OciError> {
        let response = self.send(&RegistryRequest::new(Method::GET, url.clone())).await?;
        let response = self.expect(response, &[StatusCode::OK], RegistryAccess::Read).await?;
        let links = response.headers().get_all(LINK).iter().filter_map(|value| value.to_str().ok());
        let next = links.into_iter().find_map(next).and_then(|next| url.join(next).ok());
        if next.as_ref().is_some_and(|next| next.origin() != self.base.origin()) {
            return Err(OciError::Protocol("its list of tags continues on another host"));
        }
        let body = self.read_body(response, MAX_PAGE_BYTES, "its list of tags").await?;
        let page: TagPage = serde_json::from_slice(&body)
            .map_err(|_| OciError::Protocol("its list of tags is not valid JSON"))?;
        Ok((page.tags.unwrap_or_default(), next))
    }
}

/// The target of `</v2/a/tags/list?last=b>; rel="next"`.
fn next(header: &str) -> Option<&str> {
    header.split(',').find_map(|link| {
        let (target, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = rest.split(';').any(|part| {
            let part = part.trim();
            part.eq_ignore_ascii_case("rel=next") || part.eq_ignore_ascii_case("rel=\"next\"")
        });
        is_next.then_some(target)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"</v2/a/tags/list?last=b&n=2>; rel="next""#, Some("/v2/a/tags/list?last=b&n=2"))]
    #[case("<https://r/x>; rel=next", Some("https://r/x"))]
    #[case(r#"</a>; rel="prev", </b>; rel="next""#, Some("/b"))]
    #[case(r#"</a>; rel="prev""#, None)]
    #[case("", None)]
    fn a_page_links_to_the_next_one(#[case] header: &str, #[case] expected: Option<&str>) {
        assert_eq!(next(header), expected);
    }
}
