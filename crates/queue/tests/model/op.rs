//! Random operations. They refer to jobs, nodes and cursors by small numbers, taken modulo the number that exists,
//! so that they shrink well.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Submit {
        tenant: u8,
        priority: i32,
        backend: u8,
        key: Option<u8>,
        submitter: u8,
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
    Heartbeat {
        node: u8,
        fault: CredentialFault,
        named: Vec<JobChoice>,
        progress: Option<(AttemptChoice, u64)>,
    },
    Claim {
        node: u8,
        fault: CredentialFault,
    },
    Report {
        node: u8,
        fault: CredentialFault,
        job: JobChoice,
        attempt: AttemptChoice,
        score: Option<u8>,
        /// Why there is no score, by number.
        reason: u8,
    },
    /// The node claims jobs and fails each at once.
    FailInARow {
        node: u8,
        /// Why, by number.
        reason: u8,
        count: u8,
        /// Whether the first back-off of the jobs is over.
        later: bool,
    },
    Release {
        node: u8,
        fault: CredentialFault,
        job: JobChoice,
        attempt: AttemptChoice,
    },
    Cancel {
        tenant: u8,
        job: JobChoice,
    },
    Update {
        tenant: u8,
        job: JobChoice,
        frame_step: Option<u8>,
        priority: Option<i32>,
        limit: Option<u32>,
        /// 0: no deadline.
        deadline: Option<u64>,
    },
    Label {
        tenant: u8,
        job: JobChoice,
        key: Option<u8>,
        value: u8,
    },
    Look {
        tenant: u8,
        job: JobChoice,
    },
    List {
        tenant: u8,
        states: u8,
        origin: Option<u8>,
        after: Option<JobChoice>,
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
    /// Regular sweeps, between which the nodes of the bit mask send heartbeats that name no job.
    Sweeps {
        count: u8,
        alive: u8,
    },
    Prune {
        seconds: u64,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum JobChoice {
    /// One that the node holds, if it holds any.
    Held(u8),
    Any(u8),
    /// An id that was never submitted.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum AttemptChoice {
    Latest,
    Before,
    /// An attempt that was never started.
    Next,
    Unnamed,
}

/// What is wrong with the credentials that a node presents.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CredentialFault {
    None,
    Token,
    Tenant,
}

fn pick() -> impl Strategy<Value = JobChoice> {
    prop_oneof![6 => any::<u8>().prop_map(JobChoice::Held), 4 => any::<u8>().prop_map(JobChoice::Any), 1 => Just(JobChoice::Unknown)]
}

fn which() -> impl Strategy<Value = AttemptChoice> {
    prop_oneof![
        6 => Just(AttemptChoice::Latest),
        2 => Just(AttemptChoice::Unnamed),
        2 => Just(AttemptChoice::Before),
        1 => Just(AttemptChoice::Next),
    ]
}

fn fault() -> impl Strategy<Value = CredentialFault> {
    prop_oneof![12 => Just(CredentialFault::None), 1 => Just(CredentialFault::Token), 1 => Just(CredentialFault::Tenant)]
}

fn submit() -> impl Strategy<Value = Op> {
    (
        0..2_u8,
        -1..=1,
        0..3_u8,
        option::weighted(0.4, 0..3_u8),
        0..2_u8,
        option::weighted(0.3, 1..=2_u32),
        option::weighted(0.2, prop_oneof![Just(20), Just(70), Just(130)]),
        option::weighted(0.4, 0..=100_u8),
        option::weighted(0.3, 0..2_u8),
    )
        .prop_map(|(tenant, priority, backend, key, submitter, limit, deadline, label, origin)| {
            Op::Submit { tenant, priority, backend, key, submitter, limit, deadline, label, origin }
        })
}

fn update() -> impl Strategy<Value = Op> {
    (
        0..2_u8,
        pick(),
        option::weighted(0.6, 1..4_u8),
        option::weighted(0.3, -1..=1),
        option::weighted(0.3, 1..=4_u32),
        option::weighted(0.2, prop_oneof![Just(0), Just(20), Just(130)]),
    )
        .prop_map(|(tenant, job, frame_step, priority, limit, deadline)| Op::Update {
            tenant,
            job,
            frame_step,
            priority,
            limit,
            deadline,
        })
}

fn of_nodes() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => (0..2_u8, 0..4_u8, 0..3_u32, 0..3_u8, any::<bool>()).prop_map(
            |(tenant, backends, slots, labels, shown)| Op::Register { tenant, backends, slots, labels, shown }
        ),
        8 => (0..6_u8, fault()).prop_map(|(node, fault)| Op::Claim { node, fault }),
        4 => (0..6_u8, fault(), vec(pick(), 0..5), option::of((which(), 0..9_u64)))
            .prop_map(|(node, fault, named, progress)| Op::Heartbeat { node, fault, named, progress }),
        8 => (0..6_u8, fault(), pick(), which(), option::weighted(0.8, 0..=100_u8), 0..6_u8).prop_map(
            |(node, fault, job, attempt, score, reason)| Op::Report { node, fault, job, attempt, score, reason }
        ),
        7 => (0..6_u8, 1..4_u8, 1..=4_u8, any::<bool>()).prop_map(|(node, reason, count, later)| {
            Op::FailInARow { node, reason, count, later }
        }),
        2 => (0..6_u8, fault(), pick(), which())
            .prop_map(|(node, fault, job, attempt)| Op::Release { node, fault, job, attempt }),
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

/// Any operation, with the usual ones more frequent.
pub(crate) fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => submit(),
        12 => of_nodes(),
        1 => (0..2_u8, pick()).prop_map(|(tenant, job)| Op::Cancel { tenant, job }),
        1 => update(),
        2 => (0..2_u8, pick(), option::weighted(0.5, 0..3_u8), 0..=100_u8)
            .prop_map(|(tenant, job, key, value)| Op::Label { tenant, job, key, value }),
        4 => of_readers(),
        5 => of_time(),
    ]
}

pub(crate) fn operations() -> impl Strategy<Value = Vec<Op>> {
    vec(op(), 1..=80)
}
