//! The API server's own counts of requests.

use std::collections::BTreeMap;

use kube::Client;

#[derive(Debug, thiserror::Error)]
pub enum RequestCountsError {
    #[error("cannot read the API server's metrics")]
    Read(#[source] Box<kube::Error>),
    #[error("cannot build the request for metrics")]
    Request(#[from] http::Error),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKind {
    /// As in the API server's metrics: `POST`, `PUT`, `PATCH`, `APPLY`, `DELETE`, `GET`, `LIST`, `WATCH`.
    pub verb: String,
    /// Empty for the core group.
    pub group: String,
    pub resource: String,
    /// Empty for the object itself.
    pub subresource: String,
}

impl RequestKind {
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "POST" | "PUT" | "PATCH" | "APPLY" | "DELETE" | "DELETECOLLECTION")
    }
}

/// Numbers of requests of all clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestCounts(pub BTreeMap<RequestKind, u64>);

impl RequestCounts {
    /// The counts since the API server started. Dry runs are not counted.
    pub async fn read(client: &Client) -> Result<Self, RequestCountsError> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let text = client.request_text(request).await;
        Ok(Self::parse(&text.map_err(|source| RequestCountsError::Read(Box::new(source)))?))
    }

    #[must_use]
    pub fn writes(mut self) -> Self {
        self.0.retain(|kind, _| kind.is_write());
        self
    }

    /// The difference to earlier counts; unchanged ones are left out.
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
            // The comma before "resource" distinguishes it from "subresource".
            let kind = RequestKind {
                verb: label("verb"),
                group: label("group"),
                resource: label(",resource"),
                subresource: label("subresource"),
            };
            // The format writes integers as floats.
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
        let lines: Vec<_> = counts
            .0
            .iter()
            .map(|(kind, count)| format!("{} {}/{} {count}", kind.verb, kind.resource, kind.subresource))
            .collect();
        assert_eq!(lines, ["APPLY statefulsets/ 3", "PATCH statefulsets/status 1"]);
    }
}
