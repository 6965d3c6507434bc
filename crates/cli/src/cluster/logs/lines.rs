//! The lines of a Pod's log.

use std::collections::VecDeque;

use futures::AsyncBufReadExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;

use crate::cluster::reach::Cluster;
use crate::cluster::trouble::KubeError;
use crate::output::{OutputError, print, stream};

/// Which lines are wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Only lines with this in them.
    pub(super) about: Option<String>,
    /// Only the last of them.
    pub(super) last: Option<usize>,
    /// Put before each.
    pub(super) prefix: String,
}

/// Why a log could not be shown.
pub(super) enum Broken {
    Cluster(KubeError),
    Output(OutputError),
}

impl From<Broken> for crate::Error {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Cluster(error) => error.into(),
            Broken::Output(error) => error.into(),
        }
    }
}

impl From<OutputError> for Broken {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}

/// Writes the lines of a Pod as they come, or the last of them at the end.
pub(super) async fn show(
    cluster: &Cluster,
    pods: &Api<Pod>,
    pod: &str,
    params: &LogParams,
    wanted: &Wanted,
) -> Result<(), Broken> {
    let what = format!("read the log of Pod {pod}");
    let asked = pods.log_stream(pod, params);
    // Of a log that is followed nothing comes, not even the head of an answer, before somebody says something.
    let mut log = if params.follow {
        asked.await.map_err(|error| KubeError::of(&what, &cluster.server, error))
    } else {
        cluster.call(&what, asked).await
    }
    .map_err(Broken::Cluster)?;
    let mut kept = VecDeque::new();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = log.read_until(b'\n', &mut bytes).await;
        let read = read.map_err(|error| {
            Broken::Cluster(KubeError::Failed { what: what.clone(), cause: error.to_string() })
        })?;
        if read == 0 {
            break;
        }
        // Whatever a program writes can be shown.
        let line = String::from_utf8_lossy(&bytes);
        if wanted.about.as_ref().is_some_and(|about| !line.contains(about.as_str())) {
            continue;
        }
        let line = format!("{}{}\n", wanted.prefix, line.trim_end_matches('\n'));
        match wanted.last {
            None if stream(&line)?.is_break() => return Ok(()),
            None => {}
            Some(most) => keep(&mut kept, line, most),
        }
    }
    print(&String::from_iter(kept))?;
    Ok(())
}

fn keep(kept: &mut VecDeque<String>, line: String, most: usize) {
    kept.push_back(line);
    if kept.len() > most {
        kept.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let mut kept = VecDeque::new();
        for line in ["a", "b", "c"] {
            keep(&mut kept, line.to_owned(), 2);
        }
        assert_eq!(kept, ["b", "c"]);
        keep(&mut kept, "d".to_owned(), 0);
        assert!(kept.len() < 3);
    }
}
