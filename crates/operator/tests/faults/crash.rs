//! The operator is killed before and after each write of each scenario, and restarted.

use rstest::rstest;
use vmafx_testkit::kube::proxy::{Fault, ResponseHandling};
use vmafx_testkit::wait;

use crate::TIMEOUT;
use crate::fixture::{Bystanders, FaultFixture, Scenario, deletions, describe};

/// More writes than this mean a loop. A scenario has at most nine; an operator that starts applies three objects again.
const MAX_WRITES: usize = 24;

/// When the operator is killed.
#[derive(Debug, Clone, Copy)]
enum At {
    /// The request has not reached the API server.
    Before,
    /// The API server has carried out the request, but the operator has no response.
    After,
}

#[rstest]
#[case::create(Scenario::Create)]
#[case::pause(Scenario::Pause)]
#[case::resume(Scenario::Resume)]
#[case::image(Scenario::Image)]
#[case::recreate(Scenario::Recreate)]
#[case::impostor(Scenario::Impostor)]
#[case::delete(Scenario::Delete)]
#[tokio::test]
async fn an_operator_that_is_killed_at_any_write_completes_the_scenario_after_its_restart(
    #[case] scenario: Scenario,
) {
    let mut fixture = FaultFixture::new(&[]).await;
    let bystanders = Bystanders::create(&fixture).await;
    let mut killed = 0;
    for at in [At::Before, At::After] {
        let mut write = 1;
        while crash(&mut fixture, scenario, at, write).await {
            write += 1;
            killed += 1;
            bystanders.are_untouched(&fixture).await;
        }
    }
    assert_eq!(killed == 0, scenario == Scenario::Delete, "{scenario:?} has been killed {killed} times");
    eprintln!("{scenario:?}: killed {killed} times");
}

/// Kills the operator at one write and restarts it. `false`: the scenario has fewer writes.
async fn crash(fixture: &mut FaultFixture, scenario: Scenario, at: At, write: usize) -> bool {
    let name = format!("{scenario:?}-{at:?}-{write}").to_lowercase();
    scenario.arrange(fixture, &name).await;
    let before = fixture.uid_of(&name).await;
    let kill = fixture.operator.killer();
    let call = move |_: &_| {
        kill();
        ResponseHandling::Disconnect
    };
    let act = match at {
        At::Before => Fault::before(call),
        At::After => Fault::after(call),
    };
    let mark = fixture.proxy.request_count();
    let fault = fixture.proxy.inject(fixture.writes_for(&name).nth(write), act);
    scenario.begin(fixture, &name).await;
    let hit = tokio::select! {
        hit = wait::until(TIMEOUT * 2, "the write", async || !fault.hits().is_empty()) => hit.is_ok(),
        () = scenario.end(fixture, &name, before.as_deref()) => !fault.hits().is_empty(),
    };
    drop(fault);
    if hit {
        fixture.operator.ended().await;
        fixture.restart().await;
        scenario.end(fixture, &name, before.as_deref()).await;
    }
    let writes = fixture.written_for(&name, mark);
    assert!(deletions(&writes) <= scenario.deletions(), "{name}: {writes:#?}");
    let writes: Vec<_> = writes.iter().map(describe).collect();
    assert!(writes.len() <= MAX_WRITES, "{} writes: {writes:#?}", writes.len());
    hit
}
