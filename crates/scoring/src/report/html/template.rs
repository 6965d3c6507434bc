//! A template, in which `{{name}}` is replaced with the part of that name.

/// Replaces all placeholders in one pass, so that a part that looks like a placeholder is not replaced again. A placeholder
/// without a part becomes empty.
pub(super) fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let size: usize = parts.iter().map(|(_, part)| part.len()).sum();
    let mut filled = String::with_capacity(template.len() + size);
    let mut rest = template;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, rest)| Some((before, rest.split_once("}}")?)))
    {
        filled.push_str(before);
        filled.extend(parts.iter().find(|(known, _)| *known == name).map(|(_, part)| part.as_str()));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_not_searched_for_placeholders() {
        let parts = [("a", "{{b}}".to_owned()), ("b", "secret".to_owned())];
        assert_eq!(fill("<{{a}}|{{b}}|{{c}}>", &parts), "<{{b}}|secret|>");
    }

    #[test]
    fn a_placeholder_that_is_not_closed_stays() {
        assert_eq!(fill("x {{a", &[("a", "1".to_owned())]), "x {{a");
    }
}
