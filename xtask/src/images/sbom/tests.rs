use rstest::rstest;

use super::*;
use crate::images::product::PRODUCTS;

fn info() -> BuildInfo {
    BuildInfo {
        version: "0.1.0".into(),
        tag: "v0.1.0".into(),
        revision: None,
        source: None,
        created: "2026-01-02T03:04:05Z".into(),
    }
}

fn example() -> Value {
    let packages = BTreeSet::from([DebianPackage {
        name: "libstdc++6".into(),
        version: "1:12.2.0-14+deb12u1".into(),
        architecture: "amd64".into(),
        source: "gcc-12".into(),
        source_version: "12.2.0-14".into(),
    }]);
    let linked = |name: &str, license: &str, checksum: Option<&str>| LinkedCrate {
        name: name.into(),
        version: "0.1.0".into(),
        license: Some(license.into()),
        source: checksum.map(|_| "registry".into()),
        checksum: checksum.map(Into::into),
    };
    let crates = BTreeSet::from([
        linked("vmafx-operator", "Apache-2.0", None),
        linked("old_crate", "MIT/Apache-2.0", Some("abcd")),
    ]);
    let contents =
        Contents { digest: "sha256:00ff", packages: &packages, crates: &crates, distribution: "debian-12" };
    document(&PRODUCTS[0], &info(), &contents)
}

#[test]
fn every_relation_is_between_elements_of_the_document() {
    let document = example();
    let elements: BTreeSet<_> = document["packages"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(elements.len(), 4);
    for relation in document["relationships"].as_array().unwrap() {
        let (from, to) = (&relation["spdxElementId"], relation["relatedSpdxElement"].as_str().unwrap());
        assert!(elements.contains(to), "{to}");
        assert!(from == "SPDXRef-DOCUMENT" || elements.contains(from.as_str().unwrap()), "{from}");
    }
}

#[rstest]
#[case::image(0, "pkg:oci/vmafx-operator@sha256%3A00ff")]
#[case::debian(1, "pkg:deb/debian/libstdc%2B%2B6@1%3A12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12")]
#[case::a_crate(2, "pkg:cargo/old_crate@0.1.0")]
fn packages_have_the_names_that_scanners_know(#[case] index: usize, #[case] expected: &str) {
    let document = example();
    assert_eq!(document["packages"][index]["externalRefs"][0]["referenceLocator"], expected);
}

#[test]
fn a_slash_between_licences_becomes_or() {
    assert_eq!(example()["packages"][2]["licenseDeclared"], "MIT OR Apache-2.0");
}

#[test]
fn identifiers_contain_only_permitted_characters() {
    assert_eq!(reference("Debian", "libstdc++6", "1:2~3"), "SPDXRef-Debian-libstdc--6-1-2-3");
}
