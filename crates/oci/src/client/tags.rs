//! What a repository has, page by page.

use std::collections::BTreeSet;

use reqwest::header::LINK;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use url::Url;

use super::answer::Doing;
use super::session::{Ask, Session};
use crate::checkpoint::number_of;
use crate::error::OciError;

/// Tags that are asked for at once.
const PAGE: usize = 1000;
/// Pages that are asked for; there are registries with a hundred tags on each.
const PAGES: usize = 2000;
/// Tags that are kept.
const ALL: usize = 10_000;
/// Longest page.
const BODY: u64 = 4 << 20;

#[derive(Deserialize)]
struct Page {
    tags: Option<Vec<String>>,
}

impl Session<'_> {
    pub(super) async fn tags(&self) -> Result<Vec<String>, OciError> {
        let mut all = Vec::new();
        self.pages(|tags| {
            all.extend(tags);
            if all.len() > ALL { Err(OciError::TooManyTags(ALL)) } else { Ok(()) }
        })
        .await?;
        Ok(all)
    }

    pub(super) async fn versions(&self, name: &str, newest: usize) -> Result<Vec<u64>, OciError> {
        let mut kept = BTreeSet::new();
        self.pages(|tags| {
            for number in tags.iter().filter_map(|tag| number_of(name, tag)) {
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

    /// Hands on every page, in the registry's order.
    async fn pages(&self, mut take: impl FnMut(Vec<String>) -> Result<(), OciError>) -> Result<(), OciError> {
        let mut url = self.url(&format!("tags/list?n={PAGE}"))?;
        for _ in 0..PAGES {
            let (tags, next) = self.retrying(|| self.page(&url)).await?;
            // A page without a tag leads nowhere, whatever it says.
            let last = tags.is_empty();
            take(tags)?;
            match next.filter(|_| !last) {
                None => return Ok(()),
                Some(next) if next == url => {
                    return Err(OciError::Protocol("its list of tags goes in circles"));
                }
                Some(next) => url = next,
            }
        }
        Err(OciError::TooManyTags(PAGES * PAGE))
    }

    async fn page(&self, url: &Url) -> Result<(Vec<String>, Option<Url>), OciError> {
        let answer = self.ask(&Ask::new(Method::GET, url.clone())).await?;
        let answer = self.expect(answer, &[StatusCode::OK], Doing::Reading).await?;
        let links = answer.headers().get_all(LINK).iter().filter_map(|value| value.to_str().ok());
        let next = links.into_iter().find_map(next).and_then(|next| url.join(next).ok());
        if next.as_ref().is_some_and(|next| next.origin() != self.base.origin()) {
            return Err(OciError::Protocol("its list of tags goes on elsewhere"));
        }
        let body = self.whole(answer, BODY, "its list of tags").await?;
        let page: Page = serde_json::from_slice(&body)
            .map_err(|_| OciError::Protocol("its list of tags cannot be read"))?;
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
    fn a_page_says_where_the_next_one_is(#[case] header: &str, #[case] expected: Option<&str>) {
        assert_eq!(next(header), expected);
    }
}
