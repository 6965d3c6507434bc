//! Text made harmless for the place where it is put.

/// For the text of an element and for attributes in double quotes.
pub(super) fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// JSON for a script element. The HTML parser ends a script at `</script` wherever it stands, and counts `<!--`;
/// inside JSON these signs occur only in strings, where an escape means the same.
pub(super) fn script_data(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_sign_of_markup_survives_in_text() {
        assert_eq!(text("<a b=\"c\" d='e'>&</a>"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;&lt;/a&gt;");
    }

    #[test]
    fn data_cannot_end_its_script() {
        let safe = script_data(&serde_json::to_string("</script><!--<script>&amp;").unwrap());
        assert!(!safe.contains(['<', '>', '&']), "{safe}");
    }

    proptest! {
        #[test]
        fn escaped_data_is_the_same_data(raw in ".*") {
            let safe = script_data(&serde_json::to_string(&raw).unwrap());
            prop_assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), raw);
        }
    }
}
