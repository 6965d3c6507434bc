//! The lines of a Pod's log.

use std::collections::VecDeque;

use futures::AsyncBufReadExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;

use crate::cluster::connection::Cluster;
use crate::cluster::error::KubeError;
use crate::output::{OutputError, print, stream};

#[derive(Clone, Debug, Default)]
pub(super) struct LogFilter {
    /// Show only lines that contain this text.
    pub(super) containing: Option<String>,
    /// Show only this number of last lines.
    pub(super) tail: Option<usize>,
    /// Printed before each line.
    pub(super) prefix: String,
}

pub(super) enum LogError {
    Cluster(KubeError),
    Output(OutputError),
}

impl From<LogError> for crate::Error {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Cluster(error) => error.into(),
            LogError::Output(error) => error.into(),
        }
    }
}

impl From<OutputError> for LogError {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}

/// Prints the lines of a Pod's log as they arrive or, with `tail`, at the end.
pub(super) async fn show(
    cluster: &Cluster,
    pods: &Api<Pod>,
    pod: &str,
    params: &LogParams,
    filter: &LogFilter,
) -> Result<(), LogError> {
    let what = format!("read the log of Pod {pod}");
    let request = pods.log_stream(pod, params);
    // When a log is followed, the API server sends not even the headers before the first line, so there is no timeout.
    let mut log = if params.follow {
        request.await.map_err(|error| KubeError::from_kube(&what, &cluster.server, error))
    } else {
        cluster.call(&what, request).await
    }
    .map_err(LogError::Cluster)?;
    let mut kept = VecDeque::new();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = log.read_until(b'\n', &mut bytes).await;
        let read = read.map_err(|error| {
            LogError::Cluster(KubeError::Failed { what: what.clone(), cause: error.to_string() })
        })?;
        if read == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&bytes);
        if filter.containing.as_ref().is_some_and(|text| !line.contains(text.as_str())) {
            continue;
        }
        let line = format!("{}{}\n", filter.prefix, line.trim_end_matches('\n'));
        match filter.tail {
            None if stream(&line)?.is_break() => return Ok(()),
            None => {}
            Some(tail) => keep_last(&mut kept, line, tail),
        }
    }
    print(&String::from_iter(kept))?;
    Ok(())
}

fn keep_last(kept: &mut VecDeque<String>, line: String, tail: usize) {
    kept.push_back(line);
    if kept.len() > tail {
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
            keep_last(&mut kept, line.to_owned(), 2);
        }
        assert_eq!(kept, ["b", "c"]);
        keep_last(&mut kept, "d".to_owned(), 0);
        assert!(kept.len() < 3);
    }
}
