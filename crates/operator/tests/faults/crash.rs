//! The operator is killed after each write of each flow, and started again.

use rstest::rstest;
use vmafx_testkit::kube::proxy::{Fault, ResponseHandling};
use vmafx_testkit::wait;

use crate::SOON;
use crate::world::{Bystanders, Flow, World, deletions, said};

/// More writes than this are a loop. A flow has at most nine; an operator that starts looks at three objects again.
const MOST_WRITES: usize = 24;

/// Where the operator is killed.
#[derive(Debug, Clone, Copy)]
enum At {
    /// The API server has not been asked.
    Before,
    /// The API server has done it and the operator does not know.
    After,
}

#[rstest]
#[case::create(Flow::Create)]
#[case::pause(Flow::Pause)]
#[case::resume(Flow::Resume)]
#[case::image(Flow::Image)]
#[case::recreate(Flow::Recreate)]
#[case::impostor(Flow::Impostor)]
#[case::delete(Flow::Delete)]
#[tokio::test]
async fn an_operator_that_is_killed_at_any_write_goes_on_when_it_is_started_again(#[case] flow: Flow) {
    let mut world = World::set(&[]).await;
    let bystanders = Bystanders::arrive(&world).await;
    let mut killed = 0;
    for at in [At::Before, At::After] {
        let mut write = 1;
        while crash(&mut world, flow, at, write).await {
            write += 1;
            killed += 1;
            bystanders.are_untouched(&world).await;
        }
    }
    assert_eq!(killed == 0, flow == Flow::Delete, "{flow:?} has been killed {killed} times");
    eprintln!("{flow:?}: killed {killed} times");
}

/// Kills the operator at one write and starts it again. `false`: the flow has not as many writes.
async fn crash(world: &mut World, flow: Flow, at: At, write: usize) -> bool {
    let name = format!("{flow:?}-{at:?}-{write}").to_lowercase();
    flow.arrange(world, &name).await;
    let before = world.uid_of(&name).await;
    let kill = world.operator.killer();
    let call = move |_: &_| {
        kill();
        ResponseHandling::Disconnect
    };
    let act = match at {
        At::Before => Fault::before(call),
        At::After => Fault::after(call),
    };
    let mark = world.proxy.request_count();
    let fault = world.proxy.inject(world.writes_for(&name).nth(write), act);
    flow.begin(world, &name).await;
    let hit = tokio::select! {
        hit = wait::until(SOON * 2, "the write", async || !fault.hits().is_empty()) => hit.is_ok(),
        () = flow.end(world, &name, before.as_deref()) => !fault.hits().is_empty(),
    };
    drop(fault);
    if hit {
        world.operator.ended().await;
        world.restart().await;
        flow.end(world, &name, before.as_deref()).await;
    }
    let writes = world.written_for(&name, mark);
    assert!(deletions(&writes) <= flow.deletions(), "{name}: {writes:#?}");
    let writes: Vec<_> = writes.iter().map(said).collect();
    assert!(writes.len() <= MOST_WRITES, "{} writes: {writes:#?}", writes.len());
    hit
}
