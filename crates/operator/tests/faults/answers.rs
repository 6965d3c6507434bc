//! Each write of each scenario fails once, or gets no response.

use futures::future::join_all;
use vmafx_testkit::kube::proxy::Fault;

use crate::fixture::{Bystanders, FaultFixture, Scenario, deletions};

/// The faults of a write, and whether the operator's retry delay after it is long.
const FAULTS: [(&str, Fault, bool); 6] = [
    ("conflict", Fault::Respond(409), false),
    ("toomany", Fault::Respond(429), false),
    ("broken", Fault::Respond(500), false),
    ("lost", Fault::FailAfter(500), false),
    ("invalid", Fault::Respond(422), true),
    ("never", Fault::NoResponse, true),
];

/// More writes than this for one node in one scenario mean a loop.
const MAX_WRITES: usize = 24;

/// More reconciles than this per scenario, on average, mean a loop.
const MAX_RECONCILES: f64 = 40.0;

/// Scenarios that run one after the other on a node of their own, each with a fault at its `write`th write, or none for 0.
struct Trial {
    name: String,
    scenarios: Vec<Scenario>,
    write: usize,
    act: Fault,
}

struct ScenarioOutcome {
    hit: bool,
    writes: usize,
}

#[tokio::test]
async fn the_operator_recovers_from_one_failed_response_to_any_write() {
    // Enough concurrent reconciles for all that wait for a response that never comes.
    let fixture = FaultFixture::new(&[("VMAFX_OPERATOR_CONCURRENCY", "64")]).await;
    let bystanders = Bystanders::create(&fixture).await;
    let clean =
        Trial { name: "clean".to_owned(), scenarios: Scenario::ALL.to_vec(), write: 0, act: Fault::Hold };
    let writes: Vec<_> = run(&fixture, &clean).await.iter().map(|outcome| outcome.writes).collect();
    let expected = writes.iter().sum::<usize>() * FAULTS.len();
    let trials: Vec<_> =
        FAULTS.iter().flat_map(|(word, act, slow)| trials(word, act, *slow, &writes)).collect();

    let reconciles = fixture.operator.reconciles().await;
    let outcomes: Vec<_> =
        join_all(trials.iter().map(|trial| run(&fixture, trial))).await.into_iter().flatten().collect();
    bystanders.are_untouched(&fixture).await;
    let hits = outcomes.iter().filter(|outcome| outcome.hit).count();
    let worst = outcomes.iter().map(|outcome| outcome.writes).max().unwrap_or_default();
    let reconciles = fixture.operator.reconciles().await - reconciles;
    eprintln!(
        "{hits} writes hit, {expected} expected; at most {worst} in one scenario; {reconciles} reconciles"
    );
    // The last writes of a scenario follow changes of the Pods, whose number varies.
    assert!(hits * 4 >= expected * 3, "only {hits} of {expected} writes were hit");
    assert!(worst <= MAX_WRITES, "{worst} writes in one scenario");
    let most = MAX_RECONCILES * f64::from(u32::try_from(outcomes.len()).unwrap());
    assert!(reconciles <= most, "{reconciles} reconciles in {} scenarios", outcomes.len());
}

/// One trial with all scenarios for each write, or, if retries take long, one trial for each scenario and write.
fn trials(word: &str, act: &Fault, slow: bool, writes: &[usize]) -> Vec<Trial> {
    let trial = |name: &str, scenarios: Vec<Scenario>, write: usize| {
        let name = format!("{word}-{name}-{write}").to_lowercase();
        Trial { name, scenarios, write, act: act.clone() }
    };
    if slow {
        let each = Scenario::ALL.into_iter().zip(writes);
        each.flat_map(|(scenario, writes)| (1..=*writes).map(move |write| (scenario, write)))
            .map(|(scenario, write)| trial(&format!("{scenario:?}"), vec![scenario], write))
            .collect()
    } else {
        let most = writes.iter().copied().max().unwrap_or_default();
        (1..=most).map(|write| trial("all", Scenario::ALL.to_vec(), write)).collect()
    }
}

async fn run(fixture: &FaultFixture, trial: &Trial) -> Vec<ScenarioOutcome> {
    let Trial { name, scenarios, write, act } = trial;
    let mut outcomes = Vec::new();
    for (index, scenario) in scenarios.iter().enumerate() {
        if index == 0 {
            scenario.arrange(fixture, name).await;
        }
        let (before, mark) = (fixture.uid_of(name).await, fixture.proxy.request_count());
        let fault = fixture.proxy.inject(fixture.writes_for(name).nth(*write), act.clone());
        scenario.begin(fixture, name).await;
        scenario.end(fixture, name, before.as_deref()).await;
        let writes = fixture.written_for(name, mark);
        assert!(deletions(&writes) <= scenario.deletions(), "{name}, {scenario:?}: {writes:#?}");
        outcomes.push(ScenarioOutcome { hit: !fault.hits().is_empty(), writes: writes.len() });
    }
    outcomes
}
