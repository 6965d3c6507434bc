//! The scoring roots of a job.

use std::path::{Path, PathBuf};

use url::{Host, Url};
use vmafx_job::{Failure, FailureReason};

use super::address::{Address, ObjectAddress, ObjectStoreKind, decoded};
use super::redacted_uri::RedactedUri;
use vmafx_kit::egress::NetworkAccess;

/// Locations that a job may read, or to which it may write its report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoringRoots {
    roots: Vec<Root>,
    /// For messages.
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    Directory(PathBuf),
    Http { scheme: String, host: Option<(Host, Option<u16>)>, path: Vec<String> },
    Object { store: ObjectStoreKind, bucket: String, prefix: Vec<String> },
    Rclone { remote: String, path: Vec<String> },
}

impl ScoringRoots {
    /// Parses the roots of a job. A job without roots is refused, and so is one with a root that is not understood, because
    /// it is not known what that was meant to allow.
    pub fn parse(texts: &[String]) -> Result<Self, Failure> {
        if texts.is_empty() {
            return Err(denied(
                "the job has no scoring roots, so nothing may be read for it: set VMAFX_SCORING_ROOTS at the controller",
            ));
        }
        let roots = texts.iter().map(|text| {
            Root::parse(text).ok_or_else(|| denied(format!("{} is not a scoring root; use an absolute directory, https://host/path, s3://bucket/prefix or remote:path", RedactedUri(text))))
        });
        Ok(Self { roots: roots.collect::<Result<_, _>>()?, name: "scoring roots" })
    }

    /// The roots of a job's report: its report roots or, if it has none, its scoring roots.
    pub fn of_report(self, report_roots: &[String]) -> Result<Self, Failure> {
        if report_roots.is_empty() {
            return Ok(self);
        }
        Ok(Self { name: "report roots", ..Self::parse(report_roots)? })
    }

    /// Whether an address is below one of the roots, and which networks a request to it may connect to. For a file only the
    /// text of its path is checked; [`super::local`] checks what the path leads to.
    pub fn permit(&self, address: &Address, uri: &str) -> Result<NetworkAccess, Failure> {
        let access =
            self.roots.iter().filter_map(|root| root.permits(address)).max_by_key(|access| match access {
                NetworkAccess::Public => 0,
                NetworkAccess::Named => 1,
                NetworkAccess::Exact => 2,
            });
        access.ok_or_else(|| denied(format!("{} is outside the {} of this job", RedactedUri(uri), self.name)))
    }

    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().filter_map(|root| match root {
            Root::Directory(path) => Some(path.as_path()),
            _ => None,
        })
    }
}

fn denied(message: impl Into<String>) -> Failure {
    Failure::new(FailureReason::InputDenied, message)
}

impl Root {
    fn parse(text: &str) -> Option<Self> {
        for scheme in ["http", "https"] {
            if text == format!("{scheme}://") {
                return Some(Self::Http { scheme: scheme.to_owned(), host: None, path: Vec::new() });
            }
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            // A bucket is a root, although it is not the address of an object.
            let whole = if rest.contains('/') { text.to_owned() } else { format!("{text}/") };
            if let Some(root) = Self::bucket(scheme, rest) {
                return Address::parse(&format!("{whole}x")).is_ok().then_some(root);
            }
        } else if text.ends_with(':') {
            // So is a whole remote of rclone.
            return match Address::parse(&format!("{text}x")).ok()? {
                Address::Rclone { remote, .. } => Some(Self::Rclone { remote, path: Vec::new() }),
                _ => None,
            };
        }
        match Address::parse(text).ok()? {
            Address::File(path) => Some(Self::Directory(path)),
            Address::Http(url) => (url.query().is_none() && url.fragment().is_none()).then(|| Self::Http {
                scheme: url.scheme().to_owned(),
                host: url.host().map(|host| (host.to_owned(), url.port_or_known_default())),
                path: url_parts(&url),
            }),
            Address::Rclone { remote, path } => Some(Self::Rclone { remote, path: parts(&path) }),
            Address::Object(_) => None,
        }
    }

    fn bucket(scheme: &str, rest: &str) -> Option<Self> {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let address = Address::parse(&format!("{scheme}://{bucket}/x")).ok()?;
        let Address::Object(ObjectAddress { store, bucket, .. }) = address else { return None };
        Some(Self::Object { store, bucket, prefix: parts(prefix) })
    }

    /// The network access of a request to the address; `None` if it is not below this root.
    fn permits(&self, address: &Address) -> Option<NetworkAccess> {
        match (self, address) {
            (Self::Directory(root), Address::File(path)) => {
                path.starts_with(root).then_some(NetworkAccess::Exact)
            }
            (Self::Http { scheme, host, path }, Address::Http(url)) => {
                if url.scheme() != scheme || !below(path, &url_parts(url)) {
                    return None;
                }
                match host {
                    None => Some(NetworkAccess::Public),
                    Some((host, port)) => {
                        let same = url.host().map(|host| host.to_owned()).as_ref() == Some(host)
                            && url.port_or_known_default() == *port;
                        let access = if matches!(host, Host::Domain(_)) {
                            NetworkAccess::Named
                        } else {
                            NetworkAccess::Exact
                        };
                        same.then_some(access)
                    }
                }
            }
            (Self::Object { store, bucket, prefix }, Address::Object(object)) => {
                let same = *store == object.store && *bucket == object.bucket;
                (same && below(prefix, &parts(&object.key))).then_some(NetworkAccess::Exact)
            }
            (Self::Rclone { remote, path }, Address::Rclone { remote: other, path: below_path }) => {
                // `remote:/a` and `remote:a` are different paths to rclone.
                let same =
                    remote == other && (path.is_empty() || path[0].is_empty() == below_path.starts_with('/'));
                (same && below(path, &parts(below_path))).then_some(NetworkAccess::Exact)
            }
            _ => None,
        }
    }
}

/// The segments of a path; a slash at the end adds none, so that `/a/` and `/a` are the same root.
fn parts(path: &str) -> Vec<String> {
    let mut parts: Vec<_> = path.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(String::is_empty) {
        parts.pop();
    }
    parts
}

/// Percent-decoded, because `%6dedia` is `media` to the server.
fn url_parts(url: &Url) -> Vec<String> {
    let mut parts: Vec<_> = url.path_segments().into_iter().flatten().map(decoded).collect();
    if parts.last().is_some_and(String::is_empty) {
        parts.pop();
    }
    parts
}

fn below(root: &[String], path: &[String]) -> bool {
    path.starts_with(root)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn roots(texts: &[&str]) -> ScoringRoots {
        ScoringRoots::parse(&texts.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    fn access(root: &str, address: &str) -> Option<NetworkAccess> {
        let address = Address::parse(address).unwrap();
        roots(&[root]).permit(&address, "it").ok()
    }

    #[rstest]
    #[case("/media", "/media/a.y4m")]
    #[case("/media/", "/media/b/a.y4m")]
    #[case("https://host", "https://host/a.y4m")]
    #[case("https://host/media", "https://host/media/a.y4m")]
    #[case("https://host/media/", "https://HOST:443/%6dedia/a.y4m?sig=x")]
    #[case("https://host/media", "https://user:pass@host/media/a.y4m")]
    #[case("http://10.0.0.5:8080/", "http://10.0.0.5:8080/a.y4m")]
    #[case("https://", "https://anywhere.example/a.y4m")]
    #[case("s3://bucket", "s3://bucket/a.y4m")]
    #[case("s3://bucket/", "s3://bucket/a.y4m")]
    #[case("s3://bucket/clips", "s3://bucket/clips/a.y4m")]
    #[case("gs://bucket/clips/", "gs://bucket/clips/a.y4m")]
    #[case("azure://clips", "az://clips/a.y4m")]
    #[case("box:", "box:a.y4m")]
    #[case("box:clips", "box:clips/a.y4m")]
    #[case("sftp://user@host/clips", "sftp://user@host/clips/a.y4m")]
    fn an_address_below_a_root_is_permitted(#[case] root: &str, #[case] address: &str) {
        assert!(access(root, address).is_some());
    }

    #[rstest]
    #[case("/media", "/mediax/a.y4m")]
    #[case("/media", "/etc/passwd")]
    #[case("https://host/media", "https://host/mediax/a.y4m")]
    #[case("https://host/media", "http://host/media/a.y4m")]
    #[case("https://host/media", "https://host:8443/media/a.y4m")]
    #[case("https://host/media", "https://host.evil.example/media/a.y4m")]
    #[case("https://host/media", "https://host@evil.example/media/a.y4m")]
    #[case("https://host/media", "https://host/")]
    #[case("http://10.0.0.5/", "http://10.0.0.50/a.y4m")]
    #[case("s3://bucket/clips", "s3://bucket/clipsx/a.y4m")]
    #[case("s3://bucket/clips", "s3://buckets/clips/a.y4m")]
    #[case("s3://bucket/clips", "gs://bucket/clips/a.y4m")]
    #[case("s3://bucket/clips", "s3:bucket/clips/a.y4m")]
    #[case("box:clips", "box:clipsx/a.y4m")]
    #[case("box:clips", "box:/clips/a.y4m")]
    #[case("box:clips", "other:clips/a.y4m")]
    #[case("/media", "https://media/a.y4m")]
    fn an_address_beside_a_root_is_refused(#[case] root: &str, #[case] address: &str) {
        assert_eq!(access(root, address), None);
    }

    #[rstest]
    #[case("https://", "https://host/a", NetworkAccess::Public)]
    #[case("https://host/", "https://host/a", NetworkAccess::Named)]
    #[case("https://10.0.0.5/", "https://10.0.0.5/a", NetworkAccess::Exact)]
    #[case("http://0x7f.1/", "http://127.0.0.1/a", NetworkAccess::Exact)]
    #[case("http://[::1]/", "http://[0:0::1]/a", NetworkAccess::Exact)]
    fn a_root_gives_access_as_far_as_it_names_the_host(
        #[case] root: &str,
        #[case] address: &str,
        #[case] expected: NetworkAccess,
    ) {
        assert_eq!(access(root, address), Some(expected));
    }

    #[test]
    fn a_report_is_inside_the_report_roots_if_there_are_any() {
        let clips = roots(&["/media"]);
        assert_eq!(clips.clone().of_report(&[]).unwrap(), clips);
        let reports = clips.of_report(&["/reports".to_owned()]).unwrap();
        let permit = |uri: &str| reports.permit(&Address::parse(uri).unwrap(), uri);
        assert!(permit("/reports/r.json").is_ok());
        let denied = permit("/media/r.json").unwrap_err();
        assert_eq!(denied.reason, FailureReason::InputDenied);
        assert!(denied.message.ends_with("is outside the report roots of this job"), "{}", denied.message);
    }

    #[test]
    fn the_root_with_the_widest_access_counts() {
        let address = Address::parse("https://host/a").unwrap();
        assert_eq!(roots(&["https://", "https://host"]).permit(&address, ""), Ok(NetworkAccess::Named));
    }

    #[test]
    fn a_job_without_roots_is_refused() {
        assert_eq!(ScoringRoots::parse(&[]).unwrap_err().reason, FailureReason::InputDenied);
    }

    #[rstest]
    #[case("media")]
    #[case("")]
    #[case("/media/../etc")]
    #[case("https://host/a?b=c")]
    #[case("s3://")]
    #[case(":local:")]
    #[case(":local:/")]
    #[case("box,type=local:/")]
    fn a_root_that_is_not_understood_is_refused(#[case] root: &str) {
        assert_eq!(ScoringRoots::parse(&[root.to_owned()]).unwrap_err().reason, FailureReason::InputDenied);
    }
}
