//! Which connections the policies must allow. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A Pod that connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Operator,
    Controller,
    Worker,
    Trainer,
    /// In the namespace that `metricsScrape` names.
    Scraper,
    /// In the namespace that `controllerIngress` names.
    Client,
    /// In the release's namespace, but not part of the release.
    Neighbour,
    /// In a namespace that no value names.
    Stranger,
}

/// A port that is connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Grpc,
    Http,
    Metrics,
    Webhook,
    Worker,
    Trainer,
    ApiServer,
    Dns,
    Database,
    Registry,
    /// A server that no value names.
    Elsewhere,
}

pub(super) const SOURCES: [Source; 8] = [
    Source::Operator,
    Source::Controller,
    Source::Worker,
    Source::Trainer,
    Source::Scraper,
    Source::Client,
    Source::Neighbour,
    Source::Stranger,
];

pub(super) const TARGETS: [Target; 11] = [
    Target::Grpc,
    Target::Http,
    Target::Metrics,
    Target::Webhook,
    Target::Worker,
    Target::Trainer,
    Target::ApiServer,
    Target::Dns,
    Target::Database,
    Target::Registry,
    Target::Elsewhere,
];

/// Connections that were tried, and whether they succeeded.
pub(super) type Connectivity = BTreeMap<(Source, Target), bool>;

/// Targets that no policy of ours restricts for Pods outside the release.
const UNRESTRICTED: [Target; 6] =
    [Target::Webhook, Target::ApiServer, Target::Dns, Target::Database, Target::Registry, Target::Elsewhere];

/// Permitted targets of a source: those that it needs, and those that are not restricted.
fn permitted(from: Source) -> (&'static [Target], &'static [Target]) {
    match from {
        Source::Operator => {
            (&[Target::Grpc, Target::Http, Target::Trainer, Target::ApiServer, Target::Dns], &[])
        }
        Source::Controller => (&[Target::ApiServer, Target::Dns, Target::Database], &[]),
        Source::Worker | Source::Trainer => (&[Target::Grpc, Target::Dns, Target::Registry], &[]),
        Source::Scraper => (&[Target::Http, Target::Metrics, Target::Worker, Target::Trainer], &UNRESTRICTED),
        Source::Client => (&[Target::Grpc, Target::Http], &UNRESTRICTED),
        Source::Neighbour | Source::Stranger => (&[], &UNRESTRICTED),
    }
}

/// Whether a connection must succeed; `None` for a Pod that would connect to itself, which policies do not affect.
pub(super) fn allowed(from: Source, to: Target) -> Option<bool> {
    let itself = match from {
        Source::Operator => matches!(to, Target::Metrics | Target::Webhook),
        Source::Controller => matches!(to, Target::Grpc | Target::Http),
        Source::Worker => to == Target::Worker,
        Source::Trainer => to == Target::Trainer,
        _ => false,
    };
    let (needed, unrestricted) = permitted(from);
    (!itself).then(|| needed.contains(&to) || unrestricted.contains(&to))
}

/// Connections whose result is not the expected one.
pub(super) fn mismatches(
    connectivity: &Connectivity,
    expected: impl Fn(Source, Target) -> Option<bool>,
) -> Vec<String> {
    let bad = connectivity.iter().filter(|((from, to), open)| expected(*from, *to) == Some(!**open));
    bad.map(|((from, to), open)| {
        let how = if *open { "reaches" } else { "does not reach" };
        format!("{from:?} {how} {to:?}")
    })
    .collect()
}

pub(super) fn render(connectivity: &Connectivity) -> String {
    let mut text = format!("{:<12}", "from \\ to");
    for to in TARGETS {
        // Writing to a String cannot fail.
        let _ = write!(text, "{:<11}", format!("{to:?}"));
    }
    for from in SOURCES {
        let _ = write!(text, "\n{:<12}", format!("{from:?}"));
        for to in TARGETS {
            let mark = match connectivity.get(&(from, to)) {
                Some(true) => "open",
                Some(false) => "blocked",
                None => "",
            };
            let _ = write!(text, "{mark:<11}");
        }
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::strangers_cannot_reach_the_queue(Source::Stranger, Target::Grpc, Some(false))]
    #[case::nor_neighbours(Source::Neighbour, Target::Http, Some(false))]
    #[case::clients_cannot_scrape_metrics(Source::Client, Target::Metrics, Some(false))]
    #[case::the_scraper_can(Source::Scraper, Target::Metrics, Some(true))]
    #[case::workers_reach_no_other_server(Source::Worker, Target::Elsewhere, Some(false))]
    #[case::nor_the_api_server(Source::Worker, Target::ApiServer, Some(false))]
    #[case::the_operator_polls_trainers(Source::Operator, Target::Trainer, Some(true))]
    #[case::strangers_cannot(Source::Stranger, Target::Trainer, Some(false))]
    #[case::strangers_are_not_restricted_otherwise(Source::Stranger, Target::Elsewhere, Some(true))]
    #[case::itself(Source::Controller, Target::Grpc, None)]
    fn the_table_says_which_connections_are_permitted(
        #[case] from: Source,
        #[case] to: Target,
        #[case] expected: Option<bool>,
    ) {
        assert_eq!(allowed(from, to), expected);
    }

    #[test]
    fn mismatches_are_named() {
        let connectivity = [((Source::Stranger, Target::Grpc), true), ((Source::Worker, Target::Dns), false)];
        let connectivity: Connectivity =
            connectivity.into_iter().chain([((Source::Worker, Target::Grpc), true)]).collect();
        assert_eq!(
            mismatches(&connectivity, allowed),
            ["Worker does not reach Dns", "Stranger reaches Grpc"]
        );
    }

    #[test]
    fn connectivity_is_rendered_as_a_table() {
        let connectivity: Connectivity =
            [((Source::Worker, Target::Grpc), true), ((Source::Worker, Target::Http), false)].into();
        let text = render(&connectivity);
        assert!(text.contains("\nWorker      open       blocked\n"), "{text}");
        assert_eq!(text.lines().count(), 1 + SOURCES.len());
    }
}
