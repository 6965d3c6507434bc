use proptest::prelude::*;
use rstest::rstest;

use super::*;

const PLACEHOLDER: &str = "{tenant}";

fn parse(list: &str) -> ScoringRoots {
    ScoringRoots::parse(list, PLACEHOLDER).unwrap()
}

fn allows(roots: &str, address: &str) -> bool {
    parse(roots).check_address("acme", address).is_ok()
}

#[rstest]
#[case::inside("/data", "/data/a/b.y4m", true)]
#[case::itself("/data", "/data", true)]
#[case::root_with_slash("/data/", "/data/a", true)]
#[case::boundary("/data/a", "/data/ab", false)]
#[case::parent("/data/a", "/data", false)]
#[case::double_slash("/data", "//data//a", true)]
#[case::file_url("/data", "file:///data/a", true)]
#[case::file_url_root("file:///data", "/data/a", true)]
#[case::file_localhost("/data", "FILE://LOCALHOST/data/a", true)]
#[case::file_other_host("/data", "file://host/data/a", false)]
#[case::file_encoded("/data/a b", "file:///data/a%20b/c", true)]
#[case::everything("/", "/etc/passwd", true)]
#[case::other_kind("/data", "https://data/a", false)]
fn local_directories(#[case] roots: &str, #[case] address: &str, #[case] inside: bool) {
    assert_eq!(allows(roots, address), inside);
}

#[rstest]
#[case::inside("https://h.example/p", "https://h.example/p/a", true)]
#[case::query("https://h.example/p", "https://h.example/p/a?X-Amz-Signature=../..", true)]
#[case::host_case("https://h.example/p", "HTTPS://H.EXAMPLE/p/a", true)]
#[case::path_case("https://h.example/p", "https://h.example/P/a", false)]
#[case::default_port("https://h.example/p", "https://h.example:443/p/a", true)]
#[case::default_port_in_root("http://h.example:80/p", "http://h.example/p/a", true)]
#[case::other_port("https://h.example/p", "https://h.example:8443/p/a", false)]
#[case::port_of_the_other_scheme("https://h.example/p", "https://h.example:80/p/a", false)]
#[case::other_scheme("https://h.example/p", "http://h.example/p/a", false)]
#[case::longer_host("https://h.example", "https://h.example.evil/a", false)]
#[case::prefix_of_host("https://h.example/", "https://h.examplevil/", false)]
#[case::whole_host("https://h.example", "https://h.example/any", true)]
#[case::boundary("https://h.example/p", "https://h.example/pq", false)]
#[case::ipv6("http://[::1]:8080/p", "http://[0:0:0:0:0:0:0:1]:8080/p/a", true)]
#[case::any_host("https://", "https://h.example:8443/any", true)]
#[case::any_host_of_the_other_scheme("https://", "http://h.example/any", false)]
#[case::any_host_in_upper_case("HTTP://", "http://h.example/any", true)]
#[case::number_for_an_address("http://127.0.0.1/p", "http://2130706433/p/a", false)]
fn web_prefixes(#[case] roots: &str, #[case] address: &str, #[case] inside: bool) {
    assert_eq!(allows(roots, address), inside);
}

#[rstest]
#[case::inside("s3://bucket/p", "s3://bucket/p/a.mp4", true)]
#[case::scheme_case("s3://bucket/p", "S3://bucket/p/a.mp4", true)]
#[case::alias("s3://bucket/p", "s3a://bucket/p/a.mp4", true)]
#[case::alias_in_root("az://c/p", "azure://c/p/a.mp4", true)]
#[case::whole_bucket("gs://bucket", "gs://bucket/a", true)]
#[case::other_bucket("s3://bucket", "s3://bucket2/a", false)]
#[case::other_store("s3://bucket", "gs://bucket/a", false)]
#[case::boundary("azure://c/p", "azure://c/pq", false)]
#[case::empty_segments("s3://b/p", "s3://b/p//a", true)]
#[case::remote("archive:clips", "archive:clips/a", true)]
#[case::remote_boundary("archive:clips", "archive:clips2/a", false)]
#[case::whole_remote("archive:", "archive:any/a", true)]
#[case::remote_is_not_absolute("archive:clips", "archive:/clips/a", false)]
#[case::other_remote("archive:clips", "other:clips/a", false)]
fn stores_and_remotes(#[case] roots: &str, #[case] address: &str, #[case] inside: bool) {
    assert_eq!(allows(roots, address), inside);
}

#[rstest]
#[case::empty("", AddressError::Empty)]
#[case::relative("clip.y4m", AddressError::Relative)]
#[case::dots("/data/../etc", AddressError::Dots)]
#[case::dot("/data/./a", AddressError::Dots)]
#[case::last("/data/..", AddressError::Dots)]
#[case::encoded("/data/%2e%2e/etc", AddressError::Dots)]
#[case::half_encoded("/data/.%2E/etc", AddressError::Dots)]
#[case::twice("https://h/p/%252e%252e/x", AddressError::Dots)]
#[case::thrice("https://h/p/%25252e%25252e/x", AddressError::Dots)]
#[case::too_deep("https://h/p/%25252525252e", AddressError::Encoding)]
#[case::overlong("https://h/p/%c0%ae%c0%ae/x", AddressError::Encoding)]
#[case::parameter("https://h/p/..;x/y", AddressError::Dots)]
#[case::before_query("https://h/p/..?x", AddressError::Dots)]
#[case::slash("https://h/p/..%2fx", AddressError::EncodedSeparator)]
#[case::slash_twice("https://h/p/..%252Fx", AddressError::EncodedSeparator)]
#[case::encoded_backslash("s3://b/p/..%5cx", AddressError::EncodedSeparator)]
#[case::encoded_nul("/data/a%00.mp4", AddressError::EncodedSeparator)]
#[case::backslash("/data/..\\x", AddressError::Backslash)]
#[case::nul("/data/a\0", AddressError::Control)]
#[case::newline("/data/a\n", AddressError::Control)]
#[case::user("https://user@h/p", AddressError::UserInfo)]
#[case::password("https://h:secret@evil/p", AddressError::UserInfo)]
#[case::fragment("https://h/p#x", AddressError::Extra)]
#[case::store_query("s3://b/p/..?", AddressError::Extra)]
#[case::store_fragment("s3://b/p/..#", AddressError::Extra)]
#[case::ftp("ftp://h/p", AddressError::Scheme)]
#[case::data("data://x", AddressError::Scheme)]
#[case::http_without_slashes("http:/h/p", AddressError::Scheme)]
#[case::inline_backend(":s3:bucket/a", AddressError::Scheme)]
#[case::inline_options("archive,user=x:clips", AddressError::Scheme)]
#[case::option("-x:clips", AddressError::Scheme)]
#[case::any_host_is_no_address("https://", AddressError::Host)]
#[case::no_host("https:///p", AddressError::Host)]
#[case::foreign_host("https://hö/p", AddressError::Host)]
#[case::encoded_host("https://h%2eexample/p", AddressError::Host)]
#[case::two_dots_host("https://h..example/p", AddressError::Host)]
#[case::after_ipv6("http://[::1]evil/p", AddressError::Host)]
#[case::port("https://h:99999/p", AddressError::Port)]
#[case::port_sign("https://h:+80/p", AddressError::Port)]
#[case::port_zero("https://h:0/p", AddressError::Port)]
#[case::no_bucket("s3:///a", AddressError::Bucket)]
#[case::dots_for_a_bucket("s3://../a", AddressError::Bucket)]
#[case::file_query("file:///data/a?x", AddressError::Extra)]
fn what_could_mean_something_else_is_refused(#[case] address: &str, #[case] expected: AddressError) {
    assert_eq!(Location::parse(address), Err(expected));
}

#[test]
fn the_longest_address_is_bounded() {
    assert_eq!(Location::parse(&format!("/{}", "a".repeat(8192))), Err(AddressError::Long));
}

#[test]
fn a_denial_says_why_and_has_no_query() {
    let denied = |roots: &str, address: &str| parse(roots).check_address("acme", address).unwrap_err();
    assert_eq!(
        denied("", "/data/a"),
        AddressDenied { address: "\"/data/a\"".to_owned(), reason: DenialReason::NoRoots }
    );
    assert_eq!(
        denied("/data", "https://h/x?signature=abc"),
        AddressDenied { address: "\"https://h/x\"".to_owned(), reason: DenialReason::OutsideRoots }
    );
    assert_eq!(denied("/data", "a").reason, DenialReason::InvalidAddress(AddressError::Relative));
}

#[rstest]
#[case::plain("acme", &["/data/acme", "s3://acme/in", "/shared"])]
#[case::dot(".", &["/shared"])]
#[case::dots("..", &["/shared"])]
#[case::slash("a/b", &["/shared"])]
#[case::backslash("a\\b", &["/shared"])]
#[case::colon("a:b", &["/shared"])]
#[case::encoded("%2e%2e", &["/shared"])]
#[case::question("a?b", &["/data/a?b", "/shared"])]
fn a_tenant_is_part_of_its_roots_only_where_its_name_is_a_name(
    #[case] name: &str,
    #[case] expected: &[&str],
) {
    let roots = parse("/data/{tenant}, s3://{tenant}/in, /shared");
    let expanded: Vec<_> = roots.expand(name).iter().map(ToString::to_string).collect();
    assert_eq!(expanded, expected);
}

#[test]
fn a_list_of_roots_is_bounded() {
    let list = |number: usize| (0..number).map(|n| format!("/r{n}")).collect::<Vec<_>>().join(",");
    assert!(ScoringRoots::parse(&list(32), PLACEHOLDER).is_ok());
    let error = ScoringRoots::parse(&list(33), PLACEHOLDER).unwrap_err();
    assert_eq!(error.problem, AddressError::TooMany(32));
}

/// Resolves a decoded path like a file system does.
fn resolved(path: &str) -> Vec<String> {
    let mut stack = Vec::new();
    for segment in path.split(['/', '\\']) {
        match segment.trim() {
            "" | "." => {}
            ".." => drop(stack.pop()),
            _ => stack.push(segment.to_owned()),
        }
    }
    stack
}

proptest! {
    #[test]
    fn whatever_is_allowed_stays_inside_when_it_is_resolved(
        tail in prop::collection::vec(
            prop::sample::select(vec!["..", ".", "/", "%2e", "%2E", "%2f", "%5c", "%25", "25", "2e", "2f", "\\", "a", "%c0%ae", ";", " ", "%00", "?", "//", "..;"]),
            0..12,
        ),
        kind in 0_usize..4,
    ) {
        let (root, prefix) = [
            ("/data/a", "/data/a/"), ("/data/a", "file:///data/a/"), ("https://h/data/a", "https://h/data/a/"),
            ("s3://b/data/a", "s3://b/data/a/"),
        ][kind];
        let address = format!("{prefix}{}", tail.concat());
        if allows(root, &address) {
            let path = &address[address.find("/data").unwrap()..];
            // `?` starts a query in web addresses only; elsewhere it is part of the path.
            let mut path = if kind == 2 { path.split('?').next().unwrap() } else { path }.to_owned();
            for _ in 0..6 {
                prop_assert_eq!(&resolved(&path)[..2], ["data", "a"], "{}", address);
                path = syntax::decode(&path).unwrap();
            }
        }
    }

    #[test]
    fn reading_an_address_never_panics_and_its_normal_form_is_stable(address in "\\PC{0,60}|(s3|gs|https?|file|r)://?[a-zA-Z0-9.:/%@\\[\\]]{0,40}") {
        if let Ok(location) = Location::parse(&address) {
            prop_assert_eq!(Location::parse(&location.to_string()), Ok(location));
        }
    }
}
