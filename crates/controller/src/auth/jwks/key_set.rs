//! A JSON Web Key Set of bounded size.
//!
//! Keys of other types and for other uses are skipped, because an issuer may publish them. A set with too many keys is
//! refused as a whole: in a truncated set, the missing key could be the one that signs.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::DecodingKey;
use serde::Deserialize;
use sha2::{Digest, Sha256};

const MAX_KEYS: usize = 16;
/// The upper bound limits the cost of a signature check.
const MODULUS_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeySetError {
    #[error("it is not a JSON Web Key Set")]
    Malformed(#[source] serde_json::Error),
    #[error("it has {0} keys, more than {MAX_KEYS}")]
    TooMany(usize),
    #[error("it has no usable key for RS256; rejected keys: {0}")]
    NoKeys(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyRejection {
    Type,
    Use,
    Algorithm,
    Operations,
    Name,
    Encoding,
    ModulusSize,
    Exponent,
    Duplicate,
}

#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<Jwk>,
}

/// A member of another JSON type makes the whole set malformed.
#[derive(Deserialize)]
struct Jwk {
    kty: Option<String>,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    #[serde(rename = "key_ops")]
    operations: Option<Vec<String>>,
    n: Option<String>,
    e: Option<String>,
}

#[derive(Clone)]
pub(crate) struct KeySet {
    keys: BTreeMap<String, DecodingKey>,
    digest: [u8; 32],
}

impl KeySet {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, KeySetError> {
        let parsed: JwkSet = serde_json::from_slice(body).map_err(KeySetError::Malformed)?;
        if parsed.keys.len() > MAX_KEYS {
            return Err(KeySetError::TooMany(parsed.keys.len()));
        }
        let mut usable = BTreeMap::new();
        let mut rejected: Vec<(String, KeyRejection)> = Vec::new();
        for key in parsed.keys {
            let name = key.kid.clone().unwrap_or_default();
            match key.rsa_components() {
                Ok(components) if !usable.contains_key(&name) => drop(usable.insert(name, components)),
                Ok(_) => rejected.push((name, KeyRejection::Duplicate)),
                Err(reason) => rejected.push((name, reason)),
            }
        }
        // Of two keys with the same name, the one that signed cannot be told, so both are rejected.
        for (name, _) in rejected.iter().filter(|(_, reason)| *reason == KeyRejection::Duplicate) {
            usable.remove(name);
        }
        for (key, reason) in &rejected {
            tracing::debug!(key, ?reason, "skipped a key of the set");
        }
        if usable.is_empty() {
            return Err(KeySetError::NoKeys(format!("{rejected:?}")));
        }
        let mut digest = Sha256::new();
        for (name, (n, e)) in &usable {
            for part in [name.as_bytes(), n, e] {
                digest.update(part.len().to_be_bytes());
                digest.update(part);
            }
        }
        let keys = usable.into_iter().map(|(name, (n, e))| {
            let key = DecodingKey::from_rsa_raw_components(&n, &e);
            (name, key)
        });
        Ok(Self { keys: keys.collect(), digest: digest.finalize().into() })
    }

    pub(crate) fn get(&self, kid: &str) -> Option<&DecodingKey> {
        self.keys.get(kid)
    }

    pub(crate) fn has_same_keys(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys.keys()).finish()
    }
}

impl Jwk {
    /// Modulus and exponent, without leading zeros.
    fn rsa_components(self) -> Result<(Vec<u8>, Vec<u8>), KeyRejection> {
        if self.kty.as_deref() != Some("RSA") {
            return Err(KeyRejection::Type);
        }
        if self.usage.is_some_and(|usage| usage != "sig") {
            return Err(KeyRejection::Use);
        }
        if self.alg.is_some_and(|alg| alg != "RS256") {
            return Err(KeyRejection::Algorithm);
        }
        if self.operations.is_some_and(|ops| !ops.iter().any(|op| op == "verify")) {
            return Err(KeyRejection::Operations);
        }
        if self.kid.is_none_or(|kid| kid.is_empty()) {
            return Err(KeyRejection::Name);
        }
        let n = unsigned_integer(self.n.as_deref()).ok_or(KeyRejection::Encoding)?;
        let e = unsigned_integer(self.e.as_deref()).ok_or(KeyRejection::Encoding)?;
        if !MODULUS_BITS.contains(&bit_length(&n)) {
            return Err(KeyRejection::ModulusSize);
        }
        let odd = e.last().is_some_and(|last| last % 2 == 1);
        if !odd || e == [1] || e.len() > 4 {
            return Err(KeyRejection::Exponent);
        }
        Ok((n, e))
    }
}

fn unsigned_integer(text: Option<&str>) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text?).ok()?;
    let first = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[first..].to_vec())
}

fn bit_length(number: &[u8]) -> usize {
    number.first().map_or(0, |first| number.len() * 8 - first.leading_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn modulus(bits: usize) -> String {
        let mut bytes = vec![0xff_u8; bits / 8];
        bytes[0] = 0x80;
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn good() -> Value {
        json!({"kty": "RSA", "kid": "a", "use": "sig", "alg": "RS256", "n": modulus(2048), "e": "AQAB"})
    }

    fn with(field: &str, value: Value) -> Value {
        let mut key = good();
        key[field] = value;
        key
    }

    fn read(keys: &[Value]) -> Result<Vec<String>, String> {
        let set = KeySet::parse(json!({ "keys": keys }).to_string().as_bytes());
        set.map(|set| set.keys.into_keys().collect()).map_err(|error| error.to_string())
    }

    #[rstest]
    #[case::good(good(), true)]
    #[case::bare(json!({"kty": "RSA", "kid": "a", "n": modulus(4096), "e": "Aw"}), true)]
    #[case::operations(with("key_ops", json!(["verify"])), true)]
    #[case::too_short(with("n", json!(modulus(1024))), false)]
    #[case::just_too_short(with("n", json!(modulus(2040))), false)]
    #[case::padded_with_zeros(with("n", json!(URL_SAFE_NO_PAD.encode([&[0; 128][..], &[0xff; 128][..]].concat()))), false)]
    #[case::too_long(with("n", json!(modulus(16384))), false)]
    #[case::even_exponent(with("e", json!("AQAA")), false)]
    #[case::exponent_one(with("e", json!("AQ")), false)]
    #[case::exponent_zero(with("e", json!("AA")), false)]
    #[case::no_exponent(with("e", Value::Null), false)]
    #[case::encryption(with("use", json!("enc")), false)]
    #[case::other_algorithm(with("alg", json!("RS512")), false)]
    #[case::other_operations(with("key_ops", json!(["sign"])), false)]
    #[case::no_name(with("kid", Value::Null), false)]
    #[case::empty_name(with("kid", json!("")), false)]
    #[case::elliptic(with("kty", json!("EC")), false)]
    #[case::secret(with("kty", json!("oct")), false)]
    #[case::no_number(with("n", json!("***")), false)]
    fn only_good_keys_are_kept(#[case] key: Value, #[case] kept: bool) {
        assert_eq!(read(&[key]).is_ok(), kept);
    }

    #[test]
    fn keys_of_other_kinds_do_no_harm() {
        assert_eq!(
            read(&[json!({"kty": "EC", "kid": "b", "crv": "P-256"}), good()]),
            Ok(vec!["a".to_owned()])
        );
    }

    #[test]
    fn a_duplicate_name_invalidates_all_its_keys() {
        let other = with("kid", json!("b"));
        assert_eq!(read(&[good(), other, good(), good()]), Ok(vec!["b".to_owned()]));
    }

    #[test]
    fn a_set_is_never_truncated() {
        let keys = |number: usize| (0..number).map(|n| with("kid", json!(n.to_string()))).collect::<Vec<_>>();
        assert_eq!(read(&keys(16)).map(|kept| kept.len()), Ok(16));
        assert_eq!(read(&keys(17)), Err("it has 17 keys, more than 16".to_owned()));
    }

    #[rstest]
    #[case::nothing("")]
    #[case::list("[]")]
    #[case::other("{\"keys\": 7}")]
    #[case::number_for_a_name("{\"keys\": [{\"kid\": 7}]}")]
    fn what_is_no_set_is_refused(#[case] body: &str) {
        assert!(matches!(KeySet::parse(body.as_bytes()), Err(KeySetError::Malformed(_))));
    }
}
