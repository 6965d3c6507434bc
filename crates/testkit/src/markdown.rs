//! Code blocks, headings and links of a Markdown document. It supports the subset of Markdown that our own documents use.

use std::collections::BTreeMap;

/// A fenced block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    /// Line of the opening fence, from 1.
    pub line: usize,
    /// The first word after the opening fence; may be empty.
    pub language: String,
    /// The further words after the opening fence.
    pub attributes: Vec<String>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownLink {
    /// From 1.
    pub line: usize,
    pub target: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarkdownDocument {
    pub blocks: Vec<CodeBlock>,
    /// Link targets of the headings.
    pub anchors: Vec<String>,
    pub links: Vec<MarkdownLink>,
    /// Inline code, each with its line.
    pub code_spans: Vec<(usize, String)>,
}

impl MarkdownDocument {
    pub fn parse(text: &str) -> Self {
        let mut document = Self::default();
        let mut used_anchors = BTreeMap::new();
        let mut open: Option<CodeBlock> = None;
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(info) = line.trim_start().strip_prefix("```") {
                match open.take() {
                    Some(block) => document.blocks.push(block),
                    None => open = Some(open_block(number, info)),
                }
            } else if let Some(block) = &mut open {
                block.text.push_str(line);
                block.text.push('\n');
            } else {
                if line.starts_with('#') {
                    document.anchors.push(anchor(line.trim_start_matches('#').trim(), &mut used_anchors));
                }
                document.parse_line(number, line);
            }
        }
        document.blocks.extend(open);
        document
    }

    /// Inline code and links of one line. A link's text may contain code, so it is searched too.
    fn parse_line(&mut self, number: usize, line: &str) {
        let mut rest = String::new();
        for (index, part) in line.split('`').enumerate() {
            if index % 2 == 1 {
                self.code_spans.push((number, part.to_owned()));
            } else {
                rest.push_str(part);
            }
        }
        for part in rest.split("](").skip(1) {
            if let Some((target, _)) = part.split_once(')') {
                self.links.push(MarkdownLink { line: number, target: target.to_owned() });
            }
        }
    }
}

fn open_block(line: usize, info: &str) -> CodeBlock {
    let mut words = info.split_whitespace().map(str::to_owned);
    CodeBlock {
        line,
        language: words.next().unwrap_or_default(),
        attributes: words.collect(),
        text: String::new(),
    }
}

/// The link target of a heading: its letters, digits, dashes, underscores and spaces; repeated ones get a number.
fn anchor(heading: &str, used: &mut BTreeMap<String, usize>) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    let name: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
    let count = used.entry(name.clone()).or_default();
    *count += 1;
    if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A (b), `c`: d_e\n\nSee [x](y.md#z) and [`code`](w), `kubectl get`.\n\n```sh api\necho `# no`\n[no](no)\n```\n\
                        ## Two\n## Two\n```\nplain\n```\n";

    #[test]
    fn blocks_have_a_language_and_attributes() {
        let blocks = MarkdownDocument::parse(TEXT).blocks;
        assert_eq!(blocks.len(), 2);
        assert_eq!((blocks[0].line, blocks[0].language.as_str()), (5, "sh"));
        assert_eq!(
            (blocks[0].attributes.as_slice(), blocks[0].text.as_str()),
            (&["api".to_owned()][..], "echo `# no`\n[no](no)\n")
        );
        assert_eq!((blocks[1].language.as_str(), blocks[1].attributes.len()), ("", 0));
    }

    #[test]
    fn headings_are_linked_to_by_their_words() {
        assert_eq!(MarkdownDocument::parse(TEXT).anchors, ["a-b-c-d_e", "two", "two-1"]);
    }

    #[test]
    fn links_and_code_of_the_text_are_found_and_those_in_blocks_are_not() {
        let document = MarkdownDocument::parse(TEXT);
        let links: Vec<_> = document.links.iter().map(|link| (link.line, link.target.as_str())).collect();
        assert_eq!(links, [(3, "y.md#z"), (3, "w")]);
        let spans: Vec<_> = document.code_spans.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(spans, ["c", "code", "kubectl get"]);
    }

    #[test]
    fn a_block_without_an_end_is_a_block() {
        assert_eq!(MarkdownDocument::parse("```sh api\necho\n").blocks[0].text, "echo\n");
    }
}
