//! Notifications to subscribers.

use vmafx_queue::store::Released;

use crate::support::build::{job, node, seconds};
use crate::support::fixture::Fixture;

pub(crate) async fn a_submission_is_work_and_a_change(q: Fixture) {
    let (mut work, mut changes) = (q.subscribe(), q.subscribe());
    q.submit(job().backend("cuda")).await;
    work.work(&q.tenant, "cuda").await;
    changes.changed(&q.tenant).await;
    let mut any = q.subscribe();
    q.submit(job()).await;
    any.work(&q.tenant, "").await;
}

pub(crate) async fn a_notification_names_its_tenant(q: Fixture) {
    let odd = q.of("it's \"odd\", \u{fc}ber {}");
    let (mut work, mut changes) = (q.subscribe(), q.subscribe());
    odd.submit(job().backend("hip")).await;
    work.work(&odd.tenant, "hip").await;
    changes.changed(&odd.tenant).await;
}

pub(crate) async fn a_release_is_work_and_a_change(q: Fixture) {
    let holder = q.register(node("n").backends(["cuda"])).await;
    let taken = holder.holds(job().backend("cuda")).await;
    let (mut work, mut changes) = (q.subscribe(), q.subscribe());
    // Earlier notifications may still be in flight: only those after the release count.
    q.submit(job().backend("metal")).await;
    work.work(&q.tenant, "metal").await;
    assert_eq!(holder.release(&taken).await, Released::Moved);
    work.work(&q.tenant, "cuda").await;
    changes.changed(&q.tenant).await;
}

pub(crate) async fn a_lost_job_is_work_when_its_backoff_ends(q: Fixture) {
    let holder = q.register(node("n").backends(["cuda"])).await;
    let taken = holder.holds(job().backend("cuda")).await;
    q.pass(q.policy().lease_ttl.saturating_sub(seconds(5)), &[&holder]).await;
    let (mut work, mut changes) = (q.subscribe(), q.subscribe());
    q.submit(job().backend("metal")).await;
    work.work(&q.tenant, "metal").await;
    q.pass(seconds(5), &[&holder]).await;
    changes.changed(&q.tenant).await;
    q.wait_for(taken.id, &[&holder]).await;
    work.work(&q.tenant, "cuda").await;
}

pub(crate) async fn a_sample_is_notified(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().label(40.0)).await;
    let mut subscriber = q.subscribe();
    node.complete(&taken).await;
    subscriber.sampled(&q.tenant).await;
    let mut again = q.subscribe();
    q.label(taken.id, 50.0).await;
    again.sampled(&q.tenant).await;
}

pub(crate) async fn claims_reports_cancels_and_labels_are_changes(q: Fixture) {
    let node = q.node("n").await;
    let id = q.submit(job()).await;
    let mut subscriber = q.subscribe();
    let taken = node.take().await;
    subscriber.changed(&q.tenant).await;
    let mut subscriber = q.subscribe();
    node.complete(&taken).await;
    subscriber.changed(&q.tenant).await;
    let mut subscriber = q.subscribe();
    q.label(id, 3.0).await;
    subscriber.changed(&q.tenant).await;
    let other = q.submit(job()).await;
    let mut subscriber = q.subscribe();
    q.cancelled(other, "x").await;
    subscriber.changed(&q.tenant).await;
}

pub(crate) async fn every_subscriber_is_notified(q: Fixture) {
    let mut subscribers = [q.subscribe(), q.subscribe(), q.subscribe()];
    q.submit(job()).await;
    for listener in &mut subscribers {
        listener.work(&q.tenant, "").await;
    }
}

pub(crate) async fn what_is_told_can_be_seen(q: Fixture) {
    let cursor = q.position().await;
    let mut subscriber = q.subscribe();
    let submitting = async { q.submit(job()).await };
    let looking = async {
        subscriber.changed(&q.tenant).await;
        q.changed_ids(&cursor).await
    };
    let (id, seen) = tokio::join!(submitting, looking);
    assert_eq!(seen, [id]);
}
