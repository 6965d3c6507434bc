//! The bill of materials of an image, as an SPDX 2.3 document.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::build_info::BuildInfo;
use super::crates::LinkedCrate;
use super::debian::DebianPackage;
use super::product::Product;

pub(crate) const MEDIA_TYPE: &str = "application/spdx+json";

const UNKNOWN: &str = "NOASSERTION";
const IMAGE: &str = "SPDXRef-Image";

#[derive(Debug)]
pub(crate) struct Contents<'a> {
    /// The image's digest, `sha256:…`.
    pub(crate) digest: &'a str,
    pub(crate) packages: &'a BTreeSet<DebianPackage>,
    pub(crate) crates: &'a BTreeSet<LinkedCrate>,
    /// As in `debian-12`.
    pub(crate) distribution: &'a str,
}

/// Builds the document. It is deterministic.
pub(crate) fn document(product: &Product, info: &BuildInfo, contents: &Contents<'_>) -> Value {
    let mut packages = vec![image(product, info, contents.digest)];
    let mut relations = vec![relation("SPDXRef-DOCUMENT", "DESCRIBES", IMAGE)];
    for package in contents.packages {
        let described = debian(package, contents.distribution);
        relations.push(relation(IMAGE, "CONTAINS", id(&described)));
        packages.push(described);
    }
    let program = reference("Crate", product.program, &info.version);
    for one in contents.crates {
        let described = linked(one);
        relations.push(match id(&described) {
            own if own == program => relation(IMAGE, "CONTAINS", own),
            other => relation(&program, "STATIC_LINK", other),
        });
        packages.push(described);
    }
    json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": product.program,
        "documentNamespace": format!("https://vmafx.dev/spdx/{}/{}", product.program, contents.digest.replace(':', "-")),
        "creationInfo": {"created": info.created, "creators": [format!("Tool: vmafx-xtask-{}", info.version)]},
        "packages": packages,
        "relationships": relations,
    })
}

fn image(product: &Product, info: &BuildInfo, digest: &str) -> Value {
    let mut package = bare(IMAGE, product.program, &info.tag, product.licenses);
    package["primaryPackagePurpose"] = json!("CONTAINER");
    package["checksums"] = json!([checksum(digest.trim_start_matches("sha256:"))]);
    // A package URL needs the colon of the version percent-encoded.
    package["externalRefs"] = purl(&format!("pkg:oci/{}@{}", product.program, digest.replace(':', "%3A")));
    package
}

fn debian(package: &DebianPackage, distribution: &str) -> Value {
    let DebianPackage { name, version, architecture, source, source_version } = package;
    let mut described = bare(&reference("Debian", name, version), name, version, UNKNOWN);
    described["sourceInfo"] = json!(format!("built from the source package {source} {source_version}"));
    described["licenseComments"] = json!(format!("/usr/share/doc/{name}/copyright in the image"));
    let (name, version) = (percent(name), percent(version));
    described["externalRefs"] =
        purl(&format!("pkg:deb/debian/{name}@{version}?arch={architecture}&distro={distribution}"));
    described
}

fn linked(one: &LinkedCrate) -> Value {
    // Older crates write `A/B` for `A OR B`.
    let license = one.license.as_deref().map_or_else(|| UNKNOWN.to_owned(), |text| text.replace('/', " OR "));
    let mut described = bare(&reference("Crate", &one.name, &one.version), &one.name, &one.version, &license);
    if let Some(checksum_of) = &one.checksum {
        described["checksums"] = json!([checksum(checksum_of)]);
        described["externalRefs"] = purl(&format!("pkg:cargo/{}@{}", one.name, percent(&one.version)));
    }
    described
}

fn bare(id: &str, name: &str, version: &str, license: &str) -> Value {
    json!({
        "SPDXID": id,
        "name": name,
        "versionInfo": version,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": false,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": license,
        "copyrightText": UNKNOWN,
    })
}

fn relation(from: &str, kind: &str, to: &str) -> Value {
    json!({"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to})
}

fn checksum(hex: &str) -> Value {
    json!({"algorithm": "SHA256", "checksumValue": hex})
}

fn purl(locator: &str) -> Value {
    json!([{
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": locator,
    }])
}

fn id(package: &Value) -> &str {
    package["SPDXID"].as_str().unwrap_or_default()
}

/// SPDX identifiers may contain only letters, digits, dots and dashes.
fn reference(kind: &str, name: &str, version: &str) -> String {
    let text = format!("{kind}-{name}-{version}");
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '-';
    let text: String = text.chars().map(|letter| if allowed(letter) { letter } else { '-' }).collect();
    format!("SPDXRef-{text}")
}

/// Percent-encodes the characters that have a meaning in a package URL.
fn percent(text: &str) -> String {
    text.replace('%', "%25").replace('+', "%2B").replace(':', "%3A")
}

#[cfg(test)]
mod tests;
