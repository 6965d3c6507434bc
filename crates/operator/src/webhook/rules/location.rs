//! The syntax of URIs of clips and reports, of models, OCI repositories and images.

use url::Url;

use super::violation::{FieldPath, Findings};

/// Checks the URI of a clip or report against the schemes that a node supports.
pub(super) fn uri(path: &FieldPath, text: &str, findings: &mut Findings) {
    let Some((scheme, rest)) =
        text.split_once("://").filter(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty())
    else {
        let advice = "must be a URI such as s3://bucket/clip.mp4 or file:///data/clip.mp4: write the scheme before the path";
        return findings.invalid(path, text, advice);
    };
    if text.chars().any(char::is_control) {
        return findings.invalid(path, text, "contains a control character: remove it");
    }
    if text.trim_end() != text {
        findings.warn(path, "ends with a space");
    }
    match scheme.to_ascii_lowercase().as_str() {
        "file" => file(path, text, rest, findings),
        "http" | "https" => web(path, text, findings),
        store @ ("s3" | "s3a" | "gs" | "azure" | "az") => object(path, text, store, rest, findings),
        // Any other scheme is a remote of rclone, which has a syntax of its own.
        _ => {}
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b))
}

fn file(path: &FieldPath, text: &str, rest: &str, findings: &mut Findings) {
    let file = Url::parse(text).ok().and_then(|url| url.to_file_path().ok());
    match file {
        None => {
            let advice = format!("names another machine: write file:///{rest} with three slashes");
            findings.invalid(path, text, advice);
        }
        Some(_) if text.ends_with('/') => {
            findings.invalid(path, text, "names a directory: write the file's name");
        }
        Some(_) => {}
    }
}

fn web(path: &FieldPath, text: &str, findings: &mut Findings) {
    match Url::parse(text) {
        Err(error) => findings.invalid(path, text, format!("is not a valid URL: {error}")),
        Ok(url) if !url.has_host() => findings.invalid(path, text, "names no host: write https://host/path"),
        Ok(url) if url.password().is_some() => {
            findings.warn(path, "contains a password, which everyone who can read this resource can see");
        }
        Ok(_) => {}
    }
}

fn object(path: &FieldPath, text: &str, store: &str, rest: &str, findings: &mut Findings) {
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    let named = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    if bucket.is_empty() || bucket.len() > 255 || !bucket.bytes().all(named) {
        let advice = format!(
            "names no bucket: write {store}://bucket/key; a bucket has letters, digits, '.', '-' and '_'"
        );
        findings.invalid(path, text, advice);
    } else if key.is_empty() {
        findings.invalid(path, text, format!("names no object: write {store}://{bucket}/key"));
    } else if key.ends_with('/') {
        findings.invalid(path, text, "names a directory: write the object's name");
    }
}

/// Checks a model: a name, a file of the model directory, or an `oci://` reference.
pub(super) fn model(path: &FieldPath, text: &str, findings: &mut Findings) {
    let Some((scheme, rest)) = text.split_once("://") else { return };
    if scheme != "oci" {
        let advice =
            "must be the name of a model, a file in the model directory, or oci://registry/repository:tag";
        return findings.invalid(path, text, advice);
    }
    let (host, repository) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() || repository.is_empty() || rest.contains(char::is_whitespace) {
        findings.invalid(path, text, "write oci://registry/repository:tag, or @sha256:… instead of the tag");
    } else if !is_authority(host) {
        findings.invalid(path, text, format!("\"{host}\" is not a valid host or host:port"));
    }
}

/// Checks the host of an OCI repository, with or without `oci://`.
pub(super) fn repository(path: &FieldPath, text: &str, findings: &mut Findings) {
    let rest = text.strip_prefix("oci://").unwrap_or(text);
    let host = rest.split('/').next().unwrap_or_default();
    if !is_authority(host) {
        findings.invalid(path, text, format!("\"{host}\" is not a valid host or host:port"));
    }
}

fn is_authority(host: &str) -> bool {
    Url::parse(&format!("https://{host}/")).is_ok_and(|url| url.has_host() && url.username().is_empty())
}

/// Checks an image reference as the kubelet pulls it.
pub(super) fn image(path: &FieldPath, text: &str, findings: &mut Findings) {
    if text.contains(char::is_whitespace) || text.contains("://") {
        findings.invalid(path, text, "write registry/repository:tag, without a scheme and without spaces");
        return;
    }
    let name = text.rsplit('/').next().unwrap_or_default();
    if name.is_empty() || name.starts_with([':', '@']) {
        findings.invalid(path, text, "names no repository: write registry/repository:tag");
    } else if name.ends_with(":latest") || !name.contains([':', '@']) {
        findings.warn(
            path,
            format!(
                "\"{text}\" may be a different image on each Kubernetes node: write a fixed tag or a digest"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn findings(check: fn(&FieldPath, &str, &mut Findings), text: &str) -> Findings {
        let mut findings = Findings::default();
        check(&FieldPath::spec(), text, &mut findings);
        findings
    }

    #[rstest]
    #[case("file:///data/a clip (1).mp4")]
    #[case("file://localhost/data/clip.mp4")]
    #[case("https://host:8443/clip.mp4?token=1")]
    #[case("HTTPS://host/clip.mp4")]
    #[case("s3://bucket/deep/key.mp4")]
    #[case("az://container/key")]
    #[case("rclone://remote:path/clip.mkv")]
    #[case("sftp://user@host/clip")]
    #[case("svn+ssh.x-1://h")]
    fn addresses_that_a_node_can_read_pass(#[case] text: &str) {
        assert_eq!(findings(uri, text), Findings::default());
    }

    #[rstest]
    #[case("", "write the scheme")]
    #[case("/data/clip.mp4", "write the scheme")]
    #[case("s3://", "write the scheme")]
    #[case("://x", "write the scheme")]
    #[case("1s3://b/c", "write the scheme")]
    #[case("file://data/clip.mp4", "write file:///data/clip.mp4 with three slashes")]
    #[case("file:///data/", "names a directory")]
    #[case("https://", "write the scheme")]
    #[case("http://host:99999/x", "invalid port number")]
    #[case("s3://bucket", "write s3://bucket/key")]
    #[case("s3:///key", "names no bucket")]
    #[case("gs://b u/key", "names no bucket")]
    #[case("s3://bucket/dir/", "names a directory")]
    #[case("s3://bucket/a\u{7}b", "control character")]
    fn addresses_that_no_node_can_read_are_refused_with_advice(#[case] text: &str, #[case] advice: &str) {
        let violations = findings(uri, text).violations;
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].message.contains(advice), "{violations:?}");
    }

    #[rstest]
    #[case("vmaf_v0.6.1", true)]
    #[case("auto", true)]
    #[case("oci://registry.example.com/team/models:stable", true)]
    #[case("oci://localhost:5000/m@sha256:00", true)]
    #[case("https://host/model.json", false)]
    #[case("oci://registry.example.com", false)]
    #[case("oci:///models", false)]
    #[case("oci://host:123456/models", false)]
    fn models_come_by_name_or_from_a_registry(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(findings(model, text).violations.is_empty(), expected);
    }

    #[rstest]
    #[case("registry.example.com/vmafx/node:1.2", 0, 0)]
    #[case("vmafx-node@sha256:00", 0, 0)]
    #[case("localhost:5000/node", 0, 1)]
    #[case("node:latest", 0, 1)]
    #[case("https://registry/node:1", 1, 0)]
    #[case("node :1", 1, 0)]
    #[case("registry/", 1, 0)]
    #[case(":1", 1, 0)]
    fn images_are_pulled_by_tag(#[case] text: &str, #[case] violations: usize, #[case] warnings: usize) {
        let findings = findings(image, text);
        assert_eq!(
            (findings.violations.len(), findings.warnings.len()),
            (violations, warnings),
            "{findings:?}"
        );
    }

    #[test]
    fn a_password_is_warned_about_and_not_repeated() {
        let findings = findings(uri, "https://user:hunter2@host/clip");
        assert_eq!(findings.violations, []);
        assert!(findings.warnings[0].contains("contains a password"));
        assert!(!findings.warnings[0].contains("hunter2"));
    }
}
