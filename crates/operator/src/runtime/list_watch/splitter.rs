//! Splits the JSON text of a list into its objects, in whatever chunks it arrives.

#[derive(Debug, Default)]
pub(super) struct ListSplitter {
    /// Number of open brackets.
    depth: usize,
    quoted: bool,
    escaped: bool,
    /// Whether the position is inside the array of objects.
    in_items: bool,
    /// The first part of the current object.
    object: Vec<u8>,
    /// The list without its objects.
    rest: Vec<u8>,
}

impl ListSplitter {
    /// Reads a chunk up to the end of the next object; returns the number of bytes read and the object.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> (usize, Option<String>) {
        // Start of the bytes that are not stored yet.
        let mut from = 0;
        for (at, &byte) in chunk.iter().enumerate() {
            let after = at + 1;
            if self.quoted {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.quoted = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.quoted = true,
                b'[' | b'{' => {
                    if self.depth == 1 && byte == b'[' {
                        self.store(&chunk[from..after]);
                        from = after;
                        self.in_items = ends_in_items(&self.rest);
                    } else if self.depth == 2 && self.in_items {
                        // Separators between objects are dropped.
                        from = at;
                    }
                    self.depth += 1;
                }
                b']' | b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.in_items && self.depth == 2 {
                        self.object.extend_from_slice(&chunk[from..after]);
                        return (after, Some(self.take_object()));
                    }
                    if self.in_items && self.depth == 1 {
                        self.in_items = false;
                        from = at;
                    }
                }
                _ => {}
            }
        }
        self.store(&chunk[from..]);
        (chunk.len(), None)
    }

    /// The list without its objects, at the end of the text.
    pub(super) fn rest(&self) -> &[u8] {
        &self.rest
    }

    fn store(&mut self, text: &[u8]) {
        if !self.in_items {
            self.rest.extend_from_slice(text);
        } else if self.depth > 2 {
            self.object.extend_from_slice(text);
        }
    }

    fn take_object(&mut self) -> String {
        // The next object is probably about as long.
        let next = Vec::with_capacity(self.object.len());
        let object = std::mem::replace(&mut self.object, next);
        String::from_utf8(object)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

/// Whether the array that has just been opened is the value of `items`.
fn ends_in_items(rest: &[u8]) -> bool {
    let before = rest.strip_suffix(b"[").unwrap_or(rest).trim_ascii_end();
    before.strip_suffix(b":").is_some_and(|key| key.trim_ascii_end().ends_with(b"\"items\""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// The objects and the rest, if the text arrives in chunks of this length.
    fn split(text: &str, length: usize) -> (Vec<String>, String) {
        let (mut splitter, mut objects) = (ListSplitter::default(), Vec::new());
        for mut chunk in text.as_bytes().chunks(length) {
            while !chunk.is_empty() {
                let (used, object) = splitter.feed(chunk);
                chunk = &chunk[used..];
                objects.extend(object);
            }
        }
        (objects, String::from_utf8(splitter.rest().to_vec()).unwrap())
    }

    #[rstest]
    #[case::as_custom_resources_are_written(
        r#"{"apiVersion":"v1","items":[{"a":[1,{"items":[{}]}]},{"b":"]}\"{["}],"kind":"L","metadata":{"resourceVersion":"7"}}"#,
        r#"{"apiVersion":"v1","items":[],"kind":"L","metadata":{"resourceVersion":"7"}}"#
    )]
    #[case::as_others_are(
        r#"{"kind":"L","metadata":{"resourceVersion":"7"},"items":[{"a":[1,{"items":[{}]}]},{"b":"]}\"{["}]}"#,
        r#"{"kind":"L","metadata":{"resourceVersion":"7"},"items":[]}"#
    )]
    #[case::with_space(
        "{ \"others\": [{}], \"items\" : [\n {\"a\":[1,{\"items\":[{}]}]} ,\n {\"b\":\"]}\\\"{[\"}\n] }\n",
        "{ \"others\": [{}], \"items\" : [] }\n"
    )]
    fn a_list_is_split_into_its_objects(#[case] text: &str, #[case] rest: &str) {
        for length in [1, 2, 3, 7, 1000] {
            let (objects, left) = split(text, length);
            assert_eq!(objects, [r#"{"a":[1,{"items":[{}]}]}"#, r#"{"b":"]}\"{["}"#], "{length}");
            assert_eq!(left, rest, "{length}");
        }
    }

    #[rstest]
    #[case(r#"{"items":[],"metadata":{}}"#)]
    #[case(r#"{"items":null,"metadata":{}}"#)]
    #[case(r#"{"kind":"Status","message":"items: [{"}"#)]
    #[case("no list at all ]]}}")]
    fn a_text_without_objects_stays_whole(#[case] text: &str) {
        assert_eq!(split(text, 5), (vec![], text.to_owned()));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("(items|metadata|\\PC{0,4})", inner, 0..4)
                    .prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_list_comes_out_whole(
            objects in prop::collection::vec(any_value().prop_map(|value| json!({ "spec": value })), 0..5),
            metadata in any_value(),
            length in 1..64_usize,
        ) {
            let list = json!({ "apiVersion": "v1", "items": objects, "metadata": { "x": metadata } });
            let (texts, rest) = split(&list.to_string(), length);
            let decoded: Vec<Value> = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
            prop_assert_eq!(decoded, objects);
            let mut empty = list.clone();
            empty["items"] = json!([]);
            prop_assert_eq!(serde_json::from_str::<Value>(&rest).unwrap(), empty);
        }
    }
}
