//! The commands to try next in another terminal.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::workspace;

/// A command that works as printed, and its purpose.
pub(super) type Suggestion = (String, &'static str);

/// A temporary directory with a file that sets up a shell for the commands.
pub(super) struct NextSteps(TempDir);

impl NextSteps {
    /// The file puts `vmafx`, its name as a plugin, and `kubectl` if there is one, into PATH.
    pub(super) fn new(kubectl: Option<&Path>, variables: &[(&str, &str)]) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("vmafx-run-").tempdir()?;
        let bin = directory.path().join("bin");
        fs::create_dir(&bin)?;
        let vmafx = workspace::debug("vmafx");
        let vmafx = Some(vmafx.as_path());
        let links = [("vmafx", vmafx), ("kubectl-vmafx", vmafx), ("kubectl", kubectl)];
        for (name, program) in links.into_iter().filter_map(|(name, program)| Some((name, program?))) {
            symlink(program, bin.join(name)).with_context(|| format!("cannot link {name}"))?;
        }
        fs::write(directory.path().join("env"), environment(&bin, variables)?)?;
        Ok(Self(directory))
    }

    /// Prints the commands. The file is printed only if everything stays up.
    pub(super) fn show(&self, commands: &[Suggestion], keep: bool) {
        if keep {
            println!("==> try next, in another terminal");
            println!(". {}", self.0.path().join("env").display());
        } else {
            println!("==> try next, after make run KEEP=1, which stays up");
        }
        for (command, purpose) in commands {
            println!("{command}   # {purpose}");
        }
    }
}

fn environment(bin: &Path, variables: &[(&str, &str)]) -> Result<String> {
    let mut text = String::new();
    for (name, value) in variables {
        writeln!(text, "export {name}={}", quoted(value))?;
    }
    writeln!(text, "export PATH={}:\"$PATH\"", quoted(&bin.display().to_string()))?;
    Ok(text)
}

/// Quotes text as a single shell word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Joins words to a command line, quoted where necessary.
pub(super) fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@".contains(c);
    let word = |word: &str| if word.chars().all(plain) { word.to_owned() } else { quoted(word) };
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_same_values() {
        let text = environment(Path::new("/a b/bin"), &[("A", "it's"), ("B", "$HOME")]).unwrap();
        let script = format!("{text}echo \"$A $B ${{PATH%%:*}}\"");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "it's $HOME /a b/bin\n");
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_break_them() {
        assert_eq!(line(["vmafx", "file:///a b", "--size", "1x1"]), "vmafx 'file:///a b' --size 1x1");
    }
}
