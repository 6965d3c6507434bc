//! Addresses without their secrets.

use std::fmt::{self, Write as _};

use url::Url;

const MAX_LENGTH: usize = 300;

/// Displays an address without user, password, query and fragment, which may hold signatures and tokens. Every message and
/// log line that names an address uses it; a text that is not an address loses everything that looks like a secret.
#[derive(Clone, Copy, Debug)]
pub struct RedactedUri<'a>(pub &'a str);

impl fmt::Display for RedactedUri<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = MAX_LENGTH;
        for character in redacted(self.0).chars().flat_map(char::escape_debug) {
            if left == 0 {
                return f.write_char('…');
            }
            f.write_char(character)?;
            left -= 1;
        }
        Ok(())
    }
}

fn redacted(text: &str) -> String {
    if text.starts_with('/') {
        return text.to_owned(); // a path, which has no secret part
    }
    let (public, cut) = match text.find(['?', '#']) {
        Some(at) => (&text[..at], "?…"),
        None => (text, ""),
    };
    if let Ok(url) = Url::parse(text)
        && url.has_host()
        && matches!(url.scheme(), "http" | "https")
    {
        let (scheme, host) = (url.scheme(), url.host_str().unwrap_or_default());
        let at = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        // Without the slash that the parser adds to an empty path.
        let path = if url.path() == "/" && !public.ends_with('/') { "" } else { url.path() };
        // In `http://user:8/secret@host` the parser sees a port, but its author may have meant a password with a slash.
        let slashes = ['/', '\\'];
        let after = public.split_once(':').map_or("", |(_, rest)| rest.trim_start_matches(slashes));
        let port = after.split(slashes).next().is_some_and(|authority| authority.contains(':'));
        let path = match path.rsplit_once('@') {
            Some((_, after)) if port => format!("/…@{after}"),
            _ => path.to_owned(),
        };
        return format!("{scheme}://{host}{at}{path}{cut}");
    }
    let is_scheme_character = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let (scheme, rest) = match public.find("://") {
        Some(at) if public[..at].chars().all(is_scheme_character) => public.split_at(at + 3),
        _ => ("", public),
    };
    let rest = match (rest.split_once(','), rest.contains('=')) {
        (Some((remote, _)), true) => return format!("{scheme}{remote},…"), // rclone's options
        _ => without_user(scheme, rest),
    };
    format!("{scheme}{rest}{cut}")
}

/// A password may contain slashes, so with a colon before the `@` everything up to the last `@` is removed.
fn without_user<'a>(scheme: &str, rest: &'a str) -> &'a str {
    let after = |at: usize| &rest[at + 1..];
    match rest.rfind('@') {
        Some(at) if rest[..at].contains(':') => after(at),
        Some(_) if !scheme.is_empty() => {
            let authority = rest.split('/').next().unwrap_or_default();
            authority.rfind('@').map_or(rest, after)
        }
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/media/a?b@c#d.y4m", "/media/a?b@c#d.y4m")]
    #[case("https://cdn.example.com/a.y4m", "https://cdn.example.com/a.y4m")]
    #[case(
        "https://u:p@cdn.example.com:8443/a.y4m?X-Amz-Signature=abc#t",
        "https://cdn.example.com:8443/a.y4m?…"
    )]
    #[case("http://token@host", "http://host")]
    #[case("http://host/@a/b@c.y4m", "http://host/@a/b@c.y4m")]
    #[case("http://user:/secret@host", "http://user/…@host")]
    #[case("http://user:80/secret@host/a", "http://user/…@host/a")]
    #[case("http://user:pa/ss@host/x", "http://host/x")]
    #[case("http:\\\\user:pass@host\\x", "http://host/x")]
    #[case("s3://bucket/a@b.y4m", "s3://bucket/a@b.y4m")]
    #[case("s3://KEY:SEC/RET@bucket/a.y4m", "s3://bucket/a.y4m")]
    #[case("azure://clips/a.y4m?sig=abc", "azure://clips/a.y4m?…")]
    #[case("sftp://user:secret@host/a", "sftp://host/a")]
    #[case("box:a/b.y4m", "box:a/b.y4m")]
    #[case(":sftp,host=h,pass=secret:a", ":sftp,…")]
    #[case("remote,pass='x:y':a", "remote,…")]
    #[case("remote,pass=secret://a", "remote,…")]
    #[case("user:secret@host:a", "host:a")]
    #[case("a\nb", "a\\nb")]
    fn the_location_is_shown_and_the_credentials_are_not(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(RedactedUri(text).to_string(), expected);
    }

    #[test]
    fn a_long_address_is_cut() {
        let long = format!("s3://bucket/{}", "k".repeat(5000));
        assert_eq!(RedactedUri(&long).to_string().chars().count(), MAX_LENGTH + 1);
    }

    proptest! {
        #[test]
        fn no_password_or_signature_is_ever_shown(
            scheme in "https?|s3|gs|azure|sftp|ftp|[a-z]{1,6}",
            user in "[a-z]{0,5}",
            password in "[-A-Za-z0-9/+=%._~:!]{0,12}",
            host in "[a-z0-9.]{0,10}",
            path in "(/[a-z.]{0,5}){0,3}",
            mark in "[?#]",
        ) {
            let secret = "S3cr3tS3cr3t";
            for text in [
                format!("{scheme}://{user}:{password}{secret}@{host}{path}"),
                format!("{scheme}://{secret}@{host}{path}"),
                format!("{scheme}://{host}{path}{mark}sig={password}{secret}"),
                format!("{scheme}://{host}{path}{mark}{secret}@{host}"),
                format!("{user}a,pass={secret}:{path}"),
                format!("{user}:{secret}@{host}:{path}"),
            ] {
                prop_assert!(!RedactedUri(&text).to_string().contains(secret), "{text}: {}", RedactedUri(&text));
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = RedactedUri(&text).to_string();
        }
    }
}
