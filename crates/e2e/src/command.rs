//! Runs external programs.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// Longer than any `--timeout` that a program is given, so that its own, better message comes first.
const DEADLINE: Duration = Duration::from_mins(6);

/// Standard output of a program; an error with its standard error if it fails.
pub(crate) async fn output(mut command: Command, input: &str) -> Result<String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let args: Vec<_> = command.as_std().get_args().map(|arg| arg.to_string_lossy()).collect();
    let line = format!("{} {}", command.as_std().get_program().to_string_lossy(), args.join(" "));
    let run = async {
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that fails early does not read its input.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let ((), output) = tokio::join!(write, child.wait_with_output());
        output
    };
    let output =
        timeout(DEADLINE, run).await.with_context(|| format!("{line} did not exit within {DEADLINE:?}"))?;
    let output = output.with_context(|| format!("cannot run {line}"))?;
    if !output.status.success() {
        let [stderr, stdout] =
            [output.stderr, output.stdout].map(|text| String::from_utf8_lossy(&text).into_owned());
        bail!("{line}: {}\n{}{}", output.status, stderr.trim(), stdout.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("the output of {line} is not UTF-8"))
}
