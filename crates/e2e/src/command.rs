//! Other people's programs, run to their end.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// Longer than any `--timeout` that a program is given, so that its own, better words come first.
const DEADLINE: Duration = Duration::from_mins(6);

/// What it prints; what it says on its error output if it fails.
pub(crate) async fn output(mut command: Command, input: &str) -> Result<String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let words: Vec<_> = command.as_std().get_args().map(|word| word.to_string_lossy()).collect();
    let line = format!("{} {}", command.as_std().get_program().to_string_lossy(), words.join(" "));
    let run = async {
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that fails early does not read.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let ((), output) = tokio::join!(write, child.wait_with_output());
        output
    };
    let output = timeout(DEADLINE, run).await.with_context(|| format!("{line} did not end"))?;
    let output = output.with_context(|| format!("{line} could not be run"))?;
    if !output.status.success() {
        let [told, said] =
            [output.stderr, output.stdout].map(|text| String::from_utf8_lossy(&text).into_owned());
        bail!("{line}: {}\n{}{}", output.status, told.trim(), said.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{line} printed what is no text"))
}
