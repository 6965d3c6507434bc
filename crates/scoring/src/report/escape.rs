//! Escapes text, so that it cannot be taken for markup.

/// For the text of an HTML element and for attributes in double quotes.
pub(in crate::report) fn text(raw: &str) -> String {
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

/// For attributes of XML, where a line break would be read as a space and other control characters are not allowed.
pub(in crate::report) fn xml_attribute(raw: &str) -> String {
    let allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    text(raw).chars().fold(String::with_capacity(raw.len()), |mut safe, c| {
        match c {
            '\t' | '\n' | '\r' => safe.extend(["&#", &u32::from(c).to_string(), ";"]),
            c if allowed(c) => safe.push(c),
            _ => safe.push(char::REPLACEMENT_CHARACTER),
        }
        safe
    })
}

/// For JSON in a script element. The HTML parser ends a script at any `</script` and interprets `<!--`; in JSON these
/// characters occur only in strings, where their escapes are equivalent.
pub(in crate::report) fn script_data(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_markup_survives_in_text() {
        assert_eq!(text("<a b=\"c\" d='e'>&</a>"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;&lt;/a&gt;");
    }

    #[test]
    fn an_attribute_of_xml_has_no_bare_control_characters() {
        assert_eq!(xml_attribute("a\"<\n\u{1}\u{ffff}ä"), "a&quot;&lt;&#10;\u{fffd}\u{fffd}ä");
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
