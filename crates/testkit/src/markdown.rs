//! What tests read in documents: blocks of code, headings, links. Enough of Markdown for documents that we write ourselves.

use std::collections::BTreeMap;

/// A fenced block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The line of its first fence, from 1 on.
    pub line: usize,
    /// The first word behind the fence; empty if there is none.
    pub language: String,
    /// The other words there.
    pub marks: Vec<String>,
    /// What is in it.
    pub text: String,
}

/// A link to another place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its line, from 1 on.
    pub line: usize,
    /// Where it leads.
    pub target: String,
}

/// What a document is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Blocks of code, in order.
    pub blocks: Vec<Block>,
    /// Names by which headings are linked to.
    pub anchors: Vec<String>,
    /// Links of the text.
    pub links: Vec<Link>,
    /// Pieces of code within the text, each with its line.
    pub spans: Vec<(usize, String)>,
}

impl Document {
    /// Reads a document.
    pub fn read(text: &str) -> Self {
        let mut document = Self::default();
        let mut taken = BTreeMap::new();
        let mut open: Option<Block> = None;
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(info) = line.trim_start().strip_prefix("```") {
                match open.take() {
                    Some(block) => document.blocks.push(block),
                    None => open = Some(begun(number, info)),
                }
            } else if let Some(block) = &mut open {
                block.text.push_str(line);
                block.text.push('\n');
            } else {
                if line.starts_with('#') {
                    document.anchors.push(anchor(line.trim_start_matches('#').trim(), &mut taken));
                }
                document.spans(number, line);
            }
        }
        document.blocks.extend(open);
        document
    }

    /// Code and links of one line. A link may be around code, so its text is looked at too.
    fn spans(&mut self, number: usize, line: &str) {
        let mut rest = String::new();
        for (place, part) in line.split('`').enumerate() {
            if place % 2 == 1 {
                self.spans.push((number, part.to_owned()));
            } else {
                rest.push_str(part);
            }
        }
        for part in rest.split("](").skip(1) {
            if let Some((target, _)) = part.split_once(')') {
                self.links.push(Link { line: number, target: target.to_owned() });
            }
        }
    }
}

fn begun(line: usize, info: &str) -> Block {
    let mut words = info.split_whitespace().map(str::to_owned);
    Block { line, language: words.next().unwrap_or_default(), marks: words.collect(), text: String::new() }
}

/// The name that a heading has in a link: its letters, digits, lines and spaces; a number for each further one of the same.
fn anchor(heading: &str, taken: &mut BTreeMap<String, usize>) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    let name: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
    let seen = taken.entry(name.clone()).or_default();
    *seen += 1;
    if *seen == 1 { name } else { format!("{name}-{}", *seen - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A (b), `c`: d_e\n\nSee [x](y.md#z) and [`code`](w), `kubectl get`.\n\n```sh api\necho `# no`\n[no](no)\n```\n\
                        ## Two\n## Two\n```\nplain\n```\n";

    #[test]
    fn blocks_have_a_language_and_marks() {
        let blocks = Document::read(TEXT).blocks;
        assert_eq!(blocks.len(), 2);
        assert_eq!((blocks[0].line, blocks[0].language.as_str()), (5, "sh"));
        assert_eq!(
            (blocks[0].marks.as_slice(), blocks[0].text.as_str()),
            (&["api".to_owned()][..], "echo `# no`\n[no](no)\n")
        );
        assert_eq!((blocks[1].language.as_str(), blocks[1].marks.len()), ("", 0));
    }

    #[test]
    fn headings_are_linked_to_by_their_words() {
        assert_eq!(Document::read(TEXT).anchors, ["a-b-c-d_e", "two", "two-1"]);
    }

    #[test]
    fn links_and_code_of_the_text_are_found_and_those_in_blocks_are_not() {
        let document = Document::read(TEXT);
        let links: Vec<_> = document.links.iter().map(|link| (link.line, link.target.as_str())).collect();
        assert_eq!(links, [(3, "y.md#z"), (3, "w")]);
        let spans: Vec<_> = document.spans.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(spans, ["c", "code", "kubectl get"]);
    }

    #[test]
    fn a_block_without_an_end_is_a_block() {
        assert_eq!(Document::read("```sh api\necho\n").blocks[0].text, "echo\n");
    }
}
