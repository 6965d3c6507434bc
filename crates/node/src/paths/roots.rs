//! The roots of a job.

use std::path::{Path, PathBuf};

use url::{Host, Url};
use vmafx_job::{Failure, FailureReason};

use super::address::{Address, ObjectAddress, Store, decoded};
use super::network::Reach;
use super::redacted::Redacted;

/// What a job may read and write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots(Vec<Root>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    Directory(PathBuf),
    Http { scheme: String, host: Option<(Host, Option<u16>)>, path: Vec<String> },
    Object { store: Store, bucket: String, prefix: Vec<String> },
    Rclone { remote: String, path: Vec<String> },
}

/// That an address lies inside, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    /// How far a request may reach.
    pub reach: Reach,
}

impl Roots {
    /// Reads the roots that came with a job. A job without any is refused, and so is one with a root that cannot be
    /// understood: what it was meant to allow is not known.
    pub fn parse(texts: &[String]) -> Result<Self, Failure> {
        if texts.is_empty() {
            return Err(denied(
                "the job has no scoring roots, so nothing may be read for it: set VMAFX_SCORING_ROOTS at the controller",
            ));
        }
        let roots = texts.iter().map(|text| {
            Root::parse(text).ok_or_else(|| denied(format!("{} is no scoring root: write an absolute directory, https://host/path, s3://bucket/prefix or remote:path", Redacted(text))))
        });
        roots.collect::<Result<_, _>>().map(Self)
    }

    /// Whether an address lies inside one of them. What a file's path leads to is [`super::local`]'s to find out.
    pub fn permit(&self, address: &Address, shown: &str) -> Result<Permit, Failure> {
        let reach = self.0.iter().filter_map(|root| root.permits(address)).max_by_key(|reach| match reach {
            Reach::Public => 0,
            Reach::Named => 1,
            Reach::Exact => 2,
        });
        let reach = reach.ok_or_else(|| {
            denied(format!("{} lies outside the scoring roots of this job", Redacted(shown)))
        })?;
        Ok(Permit { reach })
    }

    /// The directories among them.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|root| match root {
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
            // A bucket by itself is a root, though no object.
            let whole = if rest.contains('/') { text.to_owned() } else { format!("{text}/") };
            if let Some(root) = Self::bucket(scheme, rest) {
                return Address::parse(&format!("{whole}x")).is_ok().then_some(root);
            }
        } else if text.ends_with(':') {
            // So is a whole remote.
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

    /// How far a request to the address may reach, if it lies inside.
    fn permits(&self, address: &Address) -> Option<Reach> {
        match (self, address) {
            (Self::Directory(root), Address::File(path)) => path.starts_with(root).then_some(Reach::Exact),
            (Self::Http { scheme, host, path }, Address::Http(url)) => {
                if url.scheme() != scheme || !below(path, &url_parts(url)) {
                    return None;
                }
                match host {
                    None => Some(Reach::Public),
                    Some((host, port)) => {
                        let same = url.host().map(|host| host.to_owned()).as_ref() == Some(host)
                            && url.port_or_known_default() == *port;
                        let reach = if matches!(host, Host::Domain(_)) { Reach::Named } else { Reach::Exact };
                        same.then_some(reach)
                    }
                }
            }
            (Self::Object { store, bucket, prefix }, Address::Object(object)) => {
                let same = *store == object.store && *bucket == object.bucket;
                (same && below(prefix, &parts(&object.key))).then_some(Reach::Exact)
            }
            (Self::Rclone { remote, path }, Address::Rclone { remote: other, path: below_it }) => {
                // `remote:/a` and `remote:a` are two places to rclone.
                let same =
                    remote == other && (path.is_empty() || path[0].is_empty() == below_it.starts_with('/'));
                (same && below(path, &parts(below_it))).then_some(Reach::Exact)
            }
            _ => None,
        }
    }
}

/// The parts between slashes; a slash at the end makes none, so that `/a/` and `/a` are the same root.
fn parts(path: &str) -> Vec<String> {
    let mut parts: Vec<_> = path.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(String::is_empty) {
        parts.pop();
    }
    parts
}

/// Decoded, so that `%6dedia` is `media`, as it is to the server.
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

    fn roots(texts: &[&str]) -> Roots {
        Roots::parse(&texts.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    fn reach(root: &str, address: &str) -> Option<Reach> {
        let address = Address::parse(address).unwrap();
        roots(&[root]).permit(&address, "it").ok().map(|permit| permit.reach)
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
    fn what_is_inside_is_allowed(#[case] root: &str, #[case] address: &str) {
        assert!(reach(root, address).is_some());
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
    fn what_is_beside_is_refused(#[case] root: &str, #[case] address: &str) {
        assert_eq!(reach(root, address), None);
    }

    #[rstest]
    #[case("https://", "https://host/a", Reach::Public)]
    #[case("https://host/", "https://host/a", Reach::Named)]
    #[case("https://10.0.0.5/", "https://10.0.0.5/a", Reach::Exact)]
    #[case("http://0x7f.1/", "http://127.0.0.1/a", Reach::Exact)]
    #[case("http://[::1]/", "http://[0:0::1]/a", Reach::Exact)]
    fn a_root_reaches_as_far_as_it_names(#[case] root: &str, #[case] address: &str, #[case] expected: Reach) {
        assert_eq!(reach(root, address), Some(expected));
    }

    #[test]
    fn the_root_that_reaches_farthest_counts() {
        let address = Address::parse("https://host/a").unwrap();
        assert_eq!(roots(&["https://", "https://host"]).permit(&address, "").unwrap().reach, Reach::Named);
    }

    #[test]
    fn a_job_without_roots_is_refused() {
        assert_eq!(Roots::parse(&[]).unwrap_err().reason, FailureReason::InputDenied);
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
    fn a_root_that_cannot_be_understood_is_refused(#[case] root: &str) {
        assert_eq!(Roots::parse(&[root.to_owned()]).unwrap_err().reason, FailureReason::InputDenied);
    }
}
