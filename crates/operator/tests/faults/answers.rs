//! Each write of each flow gets a bad answer once, or none.

use futures::future::join_all;
use vmafx_testkit::kube::proxy::Fault;

use crate::world::{Bystanders, Flow, World, deletions};

/// What may become of a write, and whether the operator takes long to try again.
const ACTS: [(&str, Fault, bool); 6] = [
    ("conflict", Fault::Respond(409), false),
    ("toomany", Fault::Respond(429), false),
    ("broken", Fault::Respond(500), false),
    ("lost", Fault::FailAfter(500), false),
    ("invalid", Fault::Respond(422), true),
    ("never", Fault::NoResponse, true),
];

/// More writes than this, for one node in one flow, are a loop.
const MOST_WRITES: usize = 24;

/// And more reconciles than this, for one flow on average.
const MOST_RECONCILES: f64 = 40.0;

/// A node of its own, and flows in a row, each with a fault at one of its writes; at none for write 0.
struct Trial {
    name: String,
    flows: Vec<Flow>,
    write: usize,
    act: Fault,
}

/// How a flow went.
struct Outcome {
    hit: bool,
    writes: usize,
}

#[tokio::test]
async fn one_bad_answer_to_any_write_is_got_over() {
    // Enough workers for all that wait in vain.
    let world = World::set(&[("VMAFX_OPERATOR_CONCURRENCY", "64")]).await;
    let bystanders = Bystanders::arrive(&world).await;
    let clean = Trial { name: "clean".to_owned(), flows: Flow::ALL.to_vec(), write: 0, act: Fault::Hold };
    let writes: Vec<_> = run(&world, &clean).await.iter().map(|outcome| outcome.writes).collect();
    let expected = writes.iter().sum::<usize>() * ACTS.len();
    let trials: Vec<_> =
        ACTS.iter().flat_map(|(word, act, slow)| trials(word, act, *slow, &writes)).collect();

    let reconciles = world.operator.reconciles().await;
    let outcomes: Vec<_> =
        join_all(trials.iter().map(|trial| run(&world, trial))).await.into_iter().flatten().collect();
    bystanders.are_untouched(&world).await;
    let hits = outcomes.iter().filter(|outcome| outcome.hit).count();
    let worst = outcomes.iter().map(|outcome| outcome.writes).max().unwrap_or_default();
    let reconciles = world.operator.reconciles().await - reconciles;
    eprintln!("{hits} writes hit, {expected} expected; at most {worst} in one flow; {reconciles} reconciles");
    // The last writes of a flow are about the Pods, and not always as many.
    assert!(hits * 4 >= expected * 3, "only {hits} of {expected} writes were hit");
    assert!(worst <= MOST_WRITES, "{worst} writes in one flow");
    let most = MOST_RECONCILES * f64::from(u32::try_from(outcomes.len()).unwrap());
    assert!(reconciles <= most, "{reconciles} reconciles in {} flows", outcomes.len());
}

/// One node for all flows in a row, or, where each of them takes long, one for each.
fn trials(word: &str, act: &Fault, slow: bool, writes: &[usize]) -> Vec<Trial> {
    let trial = |name: &str, flows: Vec<Flow>, write: usize| {
        let name = format!("{word}-{name}-{write}").to_lowercase();
        Trial { name, flows, write, act: act.clone() }
    };
    if slow {
        let each = Flow::ALL.into_iter().zip(writes);
        each.flat_map(|(flow, writes)| (1..=*writes).map(move |write| (flow, write)))
            .map(|(flow, write)| trial(&format!("{flow:?}"), vec![flow], write))
            .collect()
    } else {
        let most = writes.iter().copied().max().unwrap_or_default();
        (1..=most).map(|write| trial("all", Flow::ALL.to_vec(), write)).collect()
    }
}

async fn run(world: &World, trial: &Trial) -> Vec<Outcome> {
    let Trial { name, flows, write, act } = trial;
    let mut outcomes = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        if index == 0 {
            flow.arrange(world, name).await;
        }
        let (before, mark) = (world.uid_of(name).await, world.proxy.request_count());
        let fault = world.proxy.inject(world.writes_for(name).nth(*write), act.clone());
        flow.begin(world, name).await;
        flow.end(world, name, before.as_deref()).await;
        let writes = world.written_for(name, mark);
        assert!(deletions(&writes) <= flow.deletions(), "{name}, {flow:?}: {writes:#?}");
        outcomes.push(Outcome { hit: !fault.hits().is_empty(), writes: writes.len() });
    }
    outcomes
}
