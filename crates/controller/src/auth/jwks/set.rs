//! A JSON Web Key Set, read with suspicion.
//!
//! Keys of other kinds and for other uses are left out, as an issuer may have them. What is refused as a whole is a
//! set we would have to cut: the key that was cut off could be the one that signs.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::DecodingKey;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Most keys of a set.
const MOST: usize = 16;
/// Bits of a modulus. More than the upper bound would make each check a burden.
const BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// Why a set cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetError {
    /// No JSON, or other JSON.
    #[error("it is no key set")]
    Shape(#[source] serde_json::Error),
    /// Too many.
    #[error("it has {0} keys, more than {MOST}")]
    TooMany(usize),
    /// Nothing is left.
    #[error("it has no key for RS256: {0}")]
    NoKeys(String),
}

/// Why a key was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfit {
    Kind,
    Use,
    Algorithm,
    Operations,
    Name,
    Numbers,
    Weak,
    Exponent,
    Twice,
}

#[derive(Deserialize)]
struct Wire {
    keys: Vec<Key>,
}

/// A member of another type than these is none that we could use: the set is then refused.
#[derive(Deserialize)]
struct Key {
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

/// The usable keys, by name.
#[derive(Clone)]
pub(crate) struct KeySet {
    keys: BTreeMap<String, DecodingKey>,
    digest: [u8; 32],
}

impl KeySet {
    /// Reads a set.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, SetError> {
        let wire: Wire = serde_json::from_slice(body).map_err(SetError::Shape)?;
        if wire.keys.len() > MOST {
            return Err(SetError::TooMany(wire.keys.len()));
        }
        let mut usable = BTreeMap::new();
        let mut unfit: Vec<(String, Unfit)> = Vec::new();
        for key in wire.keys {
            let name = key.kid.clone().unwrap_or_default();
            match key.numbers() {
                Ok(numbers) if !usable.contains_key(&name) => drop(usable.insert(name, numbers)),
                Ok(_) => unfit.push((name, Unfit::Twice)),
                Err(reason) => unfit.push((name, reason)),
            }
        }
        // Which of two keys of one name signed cannot be known, so neither counts.
        for (name, _) in unfit.iter().filter(|(_, reason)| *reason == Unfit::Twice) {
            usable.remove(name);
        }
        for (key, reason) in &unfit {
            tracing::debug!(key, ?reason, "a key of the set is left out");
        }
        if usable.is_empty() {
            return Err(SetError::NoKeys(format!("{unfit:?}")));
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

    /// The key of a name.
    pub(crate) fn get(&self, kid: &str) -> Option<&DecodingKey> {
        self.keys.get(kid)
    }

    /// Whether the other has the same keys.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys.keys()).finish()
    }
}

impl Key {
    /// Modulus and exponent, without leading zeros.
    fn numbers(self) -> Result<(Vec<u8>, Vec<u8>), Unfit> {
        if self.kty.as_deref() != Some("RSA") {
            return Err(Unfit::Kind);
        }
        if self.usage.is_some_and(|usage| usage != "sig") {
            return Err(Unfit::Use);
        }
        if self.alg.is_some_and(|alg| alg != "RS256") {
            return Err(Unfit::Algorithm);
        }
        if self.operations.is_some_and(|ops| !ops.iter().any(|op| op == "verify")) {
            return Err(Unfit::Operations);
        }
        if self.kid.is_none_or(|kid| kid.is_empty()) {
            return Err(Unfit::Name);
        }
        let n = number(self.n.as_deref()).ok_or(Unfit::Numbers)?;
        let e = number(self.e.as_deref()).ok_or(Unfit::Numbers)?;
        if !BITS.contains(&bits(&n)) {
            return Err(Unfit::Weak);
        }
        let odd = e.last().is_some_and(|last| last % 2 == 1);
        if !odd || e == [1] || e.len() > 4 {
            return Err(Unfit::Exponent);
        }
        Ok((n, e))
    }
}

fn number(text: Option<&str>) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text?).ok()?;
    let first = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[first..].to_vec())
}

fn bits(number: &[u8]) -> usize {
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
    fn a_name_that_is_there_twice_names_nothing() {
        let other = with("kid", json!("b"));
        assert_eq!(read(&[good(), other, good(), good()]), Ok(vec!["b".to_owned()]));
    }

    #[test]
    fn a_set_is_never_cut() {
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
        assert!(matches!(KeySet::parse(body.as_bytes()), Err(SetError::Shape(_))));
    }
}
