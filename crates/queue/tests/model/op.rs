//! What may happen, as values that shrink well: things are named by small numbers that are taken modulo what is there.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// One step of a story.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Submit {
        tenant: u8,
        priority: i32,
        backend: u8,
        key: Option<u8>,
        limit: Option<u32>,
        deadline: Option<u64>,
        label: Option<u8>,
        origin: Option<u8>,
    },
    Register {
        tenant: u8,
        backends: u8,
        slots: u32,
        labels: u8,
        shown: bool,
    },
    Beat {
        node: u8,
        lie: Lie,
        named: Vec<Pick>,
        progress: Option<(Which, u64)>,
    },
    Claim {
        node: u8,
        lie: Lie,
    },
    Report {
        node: u8,
        lie: Lie,
        job: Pick,
        attempt: Which,
        score: Option<u8>,
    },
    Release {
        node: u8,
        lie: Lie,
        job: Pick,
        attempt: Which,
    },
    Cancel {
        tenant: u8,
        job: Pick,
    },
    Label {
        tenant: u8,
        job: Pick,
        key: Option<u8>,
        value: u8,
    },
    Look {
        tenant: u8,
        job: Pick,
    },
    List {
        tenant: u8,
        states: u8,
        origin: Option<u8>,
        after: Option<Pick>,
        limit: u32,
        newest_first: bool,
    },
    Position {
        tenant: u8,
    },
    Changes {
        cursor: u8,
        limit: u32,
    },
    Samples {
        cursor: u8,
        limit: u32,
    },
    Nodes,
    Advance {
        millis: u64,
    },
    TurnBack {
        seconds: u64,
    },
    Sweep,
    /// So many sweeps, each when it is due, while these nodes (a bit each) send heartbeats that name no job.
    Sweeps {
        count: u8,
        alive: u8,
    },
    Prune {
        seconds: u64,
    },
}

/// A job.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pick {
    /// One that the node holds, if there is one.
    Held(u8),
    /// One of all.
    Any(u8),
    /// One that was never submitted.
    Nobody,
}

/// An attempt of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    /// The latest.
    Latest,
    /// The one before.
    Before,
    /// The one that was never begun.
    Next,
    /// Not told.
    Untold,
}

/// What is wrong with a node's credentials.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lie {
    Nothing,
    Token,
    Tenant,
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![6 => any::<u8>().prop_map(Pick::Held), 4 => any::<u8>().prop_map(Pick::Any), 1 => Just(Pick::Nobody)]
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![
        6 => Just(Which::Latest),
        2 => Just(Which::Untold),
        2 => Just(Which::Before),
        1 => Just(Which::Next),
    ]
}

fn lie() -> impl Strategy<Value = Lie> {
    prop_oneof![12 => Just(Lie::Nothing), 1 => Just(Lie::Token), 1 => Just(Lie::Tenant)]
}

fn submit() -> impl Strategy<Value = Op> {
    (
        0..2_u8,
        -1..=1,
        0..3_u8,
        option::weighted(0.4, 0..3_u8),
        option::weighted(0.3, 1..=2_u32),
        option::weighted(0.2, prop_oneof![Just(20), Just(70), Just(130)]),
        option::weighted(0.4, 0..=100_u8),
        option::weighted(0.3, 0..2_u8),
    )
        .prop_map(|(tenant, priority, backend, key, limit, deadline, label, origin)| Op::Submit {
            tenant,
            priority,
            backend,
            key,
            limit,
            deadline,
            label,
            origin,
        })
}

fn of_nodes() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => (0..2_u8, 0..4_u8, 0..3_u32, 0..3_u8, any::<bool>()).prop_map(
            |(tenant, backends, slots, labels, shown)| Op::Register { tenant, backends, slots, labels, shown }
        ),
        8 => (0..6_u8, lie()).prop_map(|(node, lie)| Op::Claim { node, lie }),
        4 => (0..6_u8, lie(), vec(pick(), 0..5), option::of((which(), 0..9_u64)))
            .prop_map(|(node, lie, named, progress)| Op::Beat { node, lie, named, progress }),
        6 => (0..6_u8, lie(), pick(), which(), option::weighted(0.8, 0..=100_u8))
            .prop_map(|(node, lie, job, attempt, score)| Op::Report { node, lie, job, attempt, score }),
        2 => (0..6_u8, lie(), pick(), which())
            .prop_map(|(node, lie, job, attempt)| Op::Release { node, lie, job, attempt }),
    ]
}

fn of_readers() -> impl Strategy<Value = Op> {
    let list =
        (0..2_u8, 0..32_u8, option::weighted(0.3, 0..3_u8), option::of(pick()), 1..6_u32, any::<bool>());
    prop_oneof![
        3 => (0..2_u8, pick()).prop_map(|(tenant, job)| Op::Look { tenant, job }),
        2 => list.prop_map(|(tenant, states, origin, after, limit, newest_first)| Op::List {
            tenant, states, origin, after, limit, newest_first
        }),
        1 => (0..2_u8).prop_map(|tenant| Op::Position { tenant }),
        3 => (any::<u8>(), 1..5_u32).prop_map(|(cursor, limit)| Op::Changes { cursor, limit }),
        2 => (any::<u8>(), 1..5_u32).prop_map(|(cursor, limit)| Op::Samples { cursor, limit }),
        1 => Just(Op::Nodes),
    ]
}

fn of_time() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => prop_oneof![Just(1), Just(999), Just(1_000), Just(5_000), Just(10_000), Just(15_000), Just(61_000)]
            .prop_map(|millis| Op::Advance { millis }),
        1 => prop_oneof![Just(1_u64), Just(3600)].prop_map(|seconds| Op::TurnBack { seconds }),
        3 => Just(Op::Sweep),
        5 => (1..8_u8, 0..64_u8).prop_map(|(count, alive)| Op::Sweeps { count, alive }),
        2 => (0..20_u64).prop_map(|seconds| Op::Prune { seconds }),
    ]
}

/// Any step, the usual ones more often.
pub(crate) fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => submit(),
        12 => of_nodes(),
        1 => (0..2_u8, pick()).prop_map(|(tenant, job)| Op::Cancel { tenant, job }),
        2 => (0..2_u8, pick(), option::weighted(0.5, 0..3_u8), 0..=100_u8)
            .prop_map(|(tenant, job, key, value)| Op::Label { tenant, job, key, value }),
        4 => of_readers(),
        5 => of_time(),
    ]
}

/// A whole story.
pub(crate) fn story() -> impl Strategy<Value = Vec<Op>> {
    vec(op(), 1..=80)
}
