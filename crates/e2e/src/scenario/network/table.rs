//! Who reaches what. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Who connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    Operator,
    Controller,
    Worker,
    Trainer,
    /// In the namespace that `metricsScrape` names.
    Scraper,
    /// In the namespace that `controllerIngress` names.
    Client,
    /// In the release's namespace, and nothing of its own.
    Neighbour,
    /// In a namespace that nobody names.
    Stranger,
}

/// Whom they reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whom {
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
    /// A server that nobody named.
    Elsewhere,
}

pub(super) const WHO: [Who; 8] = [
    Who::Operator,
    Who::Controller,
    Who::Worker,
    Who::Trainer,
    Who::Scraper,
    Who::Client,
    Who::Neighbour,
    Who::Stranger,
];

pub(super) const WHOM: [Whom; 11] = [
    Whom::Grpc,
    Whom::Http,
    Whom::Metrics,
    Whom::Webhook,
    Whom::Worker,
    Whom::Trainer,
    Whom::ApiServer,
    Whom::Dns,
    Whom::Database,
    Whom::Registry,
    Whom::Elsewhere,
];

/// Connections that were tried, and whether they came about.
pub(super) type Seen = BTreeMap<(Who, Whom), bool>;

/// What a Pod reaches that is nobody's business here: nothing keeps it in, and these let everybody in.
const FREE: [Whom; 6] =
    [Whom::Webhook, Whom::ApiServer, Whom::Dns, Whom::Database, Whom::Registry, Whom::Elsewhere];

/// What each reaches; everything else is closed to it.
fn reached(from: Who) -> (&'static [Whom], &'static [Whom]) {
    match from {
        Who::Operator => (&[Whom::Grpc, Whom::Http, Whom::Trainer, Whom::ApiServer, Whom::Dns], &[]),
        Who::Controller => (&[Whom::ApiServer, Whom::Dns, Whom::Database], &[]),
        Who::Worker | Who::Trainer => (&[Whom::Grpc, Whom::Dns, Whom::Registry], &[]),
        Who::Scraper => (&[Whom::Http, Whom::Metrics, Whom::Worker, Whom::Trainer], &FREE),
        Who::Client => (&[Whom::Grpc, Whom::Http], &FREE),
        Who::Neighbour | Who::Stranger => (&[], &FREE),
    }
}

/// Whether a connection should come about; `None` where somebody would reach itself, which no policy sees.
pub(super) fn allowed(from: Who, to: Whom) -> Option<bool> {
    let itself = match from {
        Who::Operator => matches!(to, Whom::Metrics | Whom::Webhook),
        Who::Controller => matches!(to, Whom::Grpc | Whom::Http),
        Who::Worker => to == Whom::Worker,
        Who::Trainer => to == Whom::Trainer,
        _ => false,
    };
    let (own, free) = reached(from);
    (!itself).then(|| own.contains(&to) || free.contains(&to))
}

/// Those that were not as they should have been.
pub(super) fn wrong(seen: &Seen, expected: impl Fn(Who, Whom) -> Option<bool>) -> Vec<String> {
    let bad = seen.iter().filter(|((from, to), open)| expected(*from, *to) == Some(!**open));
    bad.map(|((from, to), open)| {
        let how = if *open { "reaches" } else { "does not reach" };
        format!("{from:?} {how} {to:?}")
    })
    .collect()
}

/// All that was seen, as a person reads it.
pub(super) fn shown(seen: &Seen) -> String {
    let mut text = format!("{:<12}", "from \\ to");
    for to in WHOM {
        // A String takes everything.
        let _ = write!(text, "{:<11}", format!("{to:?}"));
    }
    for from in WHO {
        let _ = write!(text, "\n{:<12}", format!("{from:?}"));
        for to in WHOM {
            let mark = match seen.get(&(from, to)) {
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
    #[case::strangers_have_no_part_in_the_queue(Who::Stranger, Whom::Grpc, Some(false))]
    #[case::nor_neighbours(Who::Neighbour, Whom::Http, Some(false))]
    #[case::metrics_are_for_who_scrapes(Who::Client, Whom::Metrics, Some(false))]
    #[case::who_scrapes_scrapes(Who::Scraper, Whom::Metrics, Some(true))]
    #[case::workers_stay_in(Who::Worker, Whom::Elsewhere, Some(false))]
    #[case::and_away_from_the_cluster(Who::Worker, Whom::ApiServer, Some(false))]
    #[case::trainers_are_asked_by_the_operator(Who::Operator, Whom::Trainer, Some(true))]
    #[case::and_by_no_stranger(Who::Stranger, Whom::Trainer, Some(false))]
    #[case::nobody_keeps_strangers_in(Who::Stranger, Whom::Elsewhere, Some(true))]
    #[case::itself(Who::Controller, Whom::Grpc, None)]
    fn the_table_says_who_reaches_what(#[case] from: Who, #[case] to: Whom, #[case] expected: Option<bool>) {
        assert_eq!(allowed(from, to), expected);
    }

    #[test]
    fn what_is_not_as_it_should_be_is_named() {
        let seen = [((Who::Stranger, Whom::Grpc), true), ((Who::Worker, Whom::Dns), false)];
        let seen: Seen = seen.into_iter().chain([((Who::Worker, Whom::Grpc), true)]).collect();
        assert_eq!(wrong(&seen, allowed), ["Worker does not reach Dns", "Stranger reaches Grpc"]);
    }

    #[test]
    fn a_person_can_read_it() {
        let seen: Seen = [((Who::Worker, Whom::Grpc), true), ((Who::Worker, Whom::Http), false)].into();
        let text = shown(&seen);
        assert!(text.contains("\nWorker      open       blocked\n"), "{text}");
        assert_eq!(text.lines().count(), 1 + WHO.len());
    }
}
