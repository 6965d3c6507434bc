//! How many requests the API server has answered, by its own count.

use std::collections::BTreeMap;

use kube::Client;

/// Why there are no counts.
#[derive(Debug, thiserror::Error)]
pub enum RequestCountsError {
    /// The API server did not say.
    #[error("the API server's metrics cannot be read")]
    Ask(#[source] Box<kube::Error>),
    /// The request could not be made.
    #[error("the request for metrics cannot be made")]
    Request(#[from] http::Error),
}

/// A kind of request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKind {
    /// In the words of the API server's metrics: `POST`, `PUT`, `PATCH`, `APPLY`, `DELETE`, `GET`, `LIST`, `WATCH`.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// The subresource; empty for the object itself.
    pub subresource: String,
}

impl RequestKind {
    /// Whether it changes what is stored.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "POST" | "PUT" | "PATCH" | "APPLY" | "DELETE" | "DELETECOLLECTION")
    }
}

/// Numbers of requests, of all clients together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestCounts(pub BTreeMap<RequestKind, u64>);

impl RequestCounts {
    /// Those since the API server's start. Dry runs do not count.
    pub async fn read(client: &Client) -> Result<Self, RequestCountsError> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let text = client.request_text(request).await;
        Ok(Self::parse(&text.map_err(|source| RequestCountsError::Ask(Box::new(source)))?))
    }

    /// Only writes.
    #[must_use]
    pub fn writes(mut self) -> Self {
        self.0.retain(|kind, _| kind.is_write());
        self
    }

    /// What came on top of earlier counts; what did not change is left out.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        for (kind, count) in &mut self.0 {
            *count = count.saturating_sub(earlier.0.get(kind).copied().unwrap_or(0));
        }
        self.0.retain(|_, count| *count > 0);
        self
    }

    fn parse(text: &str) -> Self {
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let Some((labels, value)) =
                line.strip_prefix("apiserver_request_total{").and_then(|rest| rest.rsplit_once("} "))
            else {
                continue;
            };
            let label = |name: &str| {
                let after = labels.split_once(&format!("{name}=\"")).map(|(_, after)| after);
                after.and_then(|after| after.split('"').next()).unwrap_or_default().to_owned()
            };
            if !label("dry_run").is_empty() {
                continue;
            }
            // "resource" is the end of "subresource" too: the comma before it tells them apart.
            let kind = RequestKind {
                verb: label("verb"),
                group: label("group"),
                resource: label(",resource"),
                subresource: label("subresource"),
            };
            // A float by the format, a whole number by its meaning.
            let count: u64 = value.split(['.', ' ']).next().and_then(|value| value.parse().ok()).unwrap_or(0);
            *counts.entry(kind).or_default() += count;
        }
        Self(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verb: &str, code: u16, resource: &str, subresource: &str, dry: &str, count: u64) -> String {
        format!(
            "apiserver_request_total{{code=\"{code}\",component=\"apiserver\",dry_run=\"{dry}\",group=\"apps\",\
             resource=\"{resource}\",scope=\"resource\",subresource=\"{subresource}\",verb=\"{verb}\",version=\"v1\"}} {count}\n"
        )
    }

    #[test]
    fn answers_of_all_codes_are_added_up_and_differences_taken() {
        let earlier = RequestCounts::parse(&line("APPLY", 200, "statefulsets", "", "", 3));
        let text = line("APPLY", 200, "statefulsets", "", "", 4)
            + &line("APPLY", 409, "statefulsets", "", "", 2)
            + &line("PATCH", 200, "statefulsets", "status", "", 1)
            + &line("APPLY", 200, "statefulsets", "", "All", 9)
            + &line("WATCH", 200, "statefulsets", "", "", 7)
            + "apiserver_request_total_other{} 1\n";
        let counts = RequestCounts::parse(&text).writes().since(&earlier);
        let said: Vec<_> = counts
            .0
            .iter()
            .map(|(kind, count)| format!("{} {}/{} {count}", kind.verb, kind.resource, kind.subresource))
            .collect();
        assert_eq!(said, ["APPLY statefulsets/ 3", "PATCH statefulsets/status 1"]);
    }
}
