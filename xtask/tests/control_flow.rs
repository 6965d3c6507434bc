//! Nothing is decided by the text of a message: errors are matched as enums, reasons have one spelling.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test code")]

use std::fs;
use std::path::{Path, PathBuf};

/// Names that hold a text for people.
const TEXTS: [&str; 7] = ["message", "error", "reason", "note", "detail", "stderr", "said"];

/// Ways to look into it.
const LOOKS: [&str; 3] = [".contains(", ".starts_with(", ".ends_with("];

/// Other programs that report a cause only as a text, each read in one place.
const EXCEPTIONS: [(&str, &str); 6] = [
    // ffmpeg and the C library, when memory is used up.
    ("crates/node/src/worker/classify.rs", "stderr.contains(NO_MEMORY)"),
    ("crates/node/src/launch/exit.rs", "stderr.contains(part)"),
    // ffmpeg exits with the same code for a file that is no video and for one that is damaged.
    ("crates/scoring/src/input/ffmpeg.rs", "said.contains(words)"),
    // rclone ends with the same exit code for most causes.
    ("crates/node/src/fetch/rclone.rs", "stderr.contains(part)"),
    // The API server answers an apply with an undeclared field with code 500 and no cause.
    ("crates/operator/src/error.rs", "status.message.contains(UNDECLARED)"),
    // A refusal by an admission webhook has the code and reason of a missing permission.
    ("crates/cli/src/cluster/submit/create.rs", "status.message.starts_with(\"admission webhook\")"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Source files, without tests.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !matches!(name, "tests" | "examples" | "target" | "testkit" | "e2e") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// Whether a line looks into a text for people: `error.message().contains(…)`, `reason.starts_with(…)`.
fn looks_into_a_message(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    LOOKS.iter().any(|look| {
        code.match_indices(look).any(|(at, _)| {
            let before =
                code[..at].trim_end_matches("()").trim_end_matches(".to_string").trim_end_matches(".as_str");
            let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
            TEXTS.iter().any(|text| name == *text || name.ends_with(&format!("_{text}")))
        })
    })
}

#[test]
fn a_look_into_a_message_is_noticed() {
    for line in [
        "if status.message().starts_with(\"scoring.\") {",
        "live.error.contains(SUSPENDED)",
        "error.to_string().contains(\"no such\")",
        "last_error.ends_with(\"x\")",
    ] {
        assert!(looks_into_a_message(line), "{line}");
    }
    for line in
        ["names.contains(&name)", "path.starts_with(root)", "// message.contains(x)", "errors.contains(&one)"]
    {
        assert!(!looks_into_a_message(line), "{line}");
    }
}

#[test]
fn nothing_is_decided_by_the_text_of_a_message() {
    let mut files = Vec::new();
    for directory in ["crates", "xtask/src"] {
        sources(&root().join(directory), &mut files);
    }
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let path = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        for (number, line) in code.lines().enumerate() {
            let excepted = EXCEPTIONS.iter().any(|(place, what)| path == *place && line.contains(what));
            if looks_into_a_message(line) && !excepted {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "match an enum instead:\n{}", found.join("\n"));
}
