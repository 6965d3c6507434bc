//! Lists.

use vmafx_queue::job::Origin;
use vmafx_queue::store::{Filter, Page};
use vmafx_queue::transition::State;
use vmafx_queue::{Job, JobId};

use crate::support::build::{first, in_states, job, of_origin, origin, with_ids};
use crate::support::fixture::{Fixture, ids};

/// Reads page after page.
async fn walk(q: &Fixture, filter: &Filter, limit: u32, newest_first: bool) -> Vec<Vec<JobId>> {
    let mut pages = Vec::new();
    let mut after = None;
    loop {
        let page = Page { after, limit, newest_first };
        let jobs = q.store.jobs(&q.tenant, filter, &page).await.unwrap();
        let Some(last) = jobs.last() else { return pages };
        after = Some((last.created_at, last.id));
        pages.push(ids(&jobs));
    }
}

pub(crate) async fn an_empty_filter_matches_everything_by_creation(q: Fixture) {
    let submitted = q.submit_all([job().priority(1), job(), job().priority(2)]).await;
    assert_eq!(ids(&q.list(&Filter::default()).await), submitted);
}

pub(crate) async fn jobs_of_one_instant_are_listed_by_id(q: Fixture) {
    let mut submitted = Vec::new();
    for _ in 0..10 {
        submitted.push(q.submit(job()).await);
    }
    submitted.sort_unstable();
    assert_eq!(ids(&q.list(&Filter::default()).await), submitted);
    assert_eq!(walk(&q, &Filter::default(), 3, false).await.concat(), submitted);
    submitted.reverse();
    assert_eq!(walk(&q, &Filter::default(), 3, true).await.concat(), submitted);
}

pub(crate) async fn pages_continue_in_both_directions(q: Fixture) {
    let mut submitted = q.submit_all([job(), job(), job(), job(), job()]).await;
    let filter = Filter::default();
    let pages = |of: &[JobId]| of.chunks(2).map(<[JobId]>::to_vec).collect::<Vec<_>>();
    assert_eq!(walk(&q, &filter, 2, false).await, pages(&submitted));
    submitted.reverse();
    assert_eq!(walk(&q, &filter, 2, true).await, pages(&submitted));
}

pub(crate) async fn pages_of_a_filter_hold_only_what_matches(q: Fixture) {
    let [a, _b, c, _d, e] = q
        .submit_all([
            job().origin(origin("video", "one")),
            job(),
            job().origin(origin("video", "two")),
            job().origin(origin("audio", "one")),
            job().origin(origin("video", "three")),
        ])
        .await;
    let video = of_origin(Origin { namespace: "video".into(), ..Origin::default() });
    assert_eq!(walk(&q, &video, 2, false).await, [vec![a, c], vec![e]]);
    assert_eq!(walk(&q, &video, 2, true).await, [vec![e, c], vec![a]]);
}

pub(crate) async fn a_list_can_be_of_some_states(q: Fixture) {
    let node = q.node("n").await;
    let completed = node.holds(job()).await;
    node.complete(&completed).await;
    let failed = node.holds(job()).await;
    node.fail(&failed, "x").await;
    let running = node.holds(job()).await.id;
    let cancelled = q.submit(job()).await;
    q.cancelled(cancelled, "x").await;
    let pending = q.submit(job()).await;

    let (completed, failed) = (completed.id, failed.id);
    for (state, id) in [
        (State::Pending, pending),
        (State::Running, running),
        (State::Completed, completed),
        (State::Failed, failed),
        (State::Cancelled, cancelled),
    ] {
        assert_eq!(ids(&q.list(&in_states([state])).await), [id], "{state:?}");
    }
    let mut several = vec![completed, cancelled, pending];
    several.sort_unstable();
    let mut found = ids(&q.list(&in_states([State::Pending, State::Completed, State::Cancelled])).await);
    found.sort_unstable();
    assert_eq!(found, several);
}

pub(crate) async fn a_list_can_be_of_an_origin_in_every_part_that_is_named(q: Fixture) {
    let wanted = origin("video", "clip");
    let [full, other_name, _none] =
        q.submit_all([job().origin(wanted.clone()), job().origin(origin("video", "other")), job()]).await;
    let part = |origin: Origin| async { ids(&q.list(&of_origin(origin)).await) };
    assert_eq!(part(wanted.clone()).await, [full]);
    assert_eq!(part(Origin { uid: "video/clip".into(), ..Origin::default() }).await, [full]);
    assert_eq!(part(Origin { name: "clip".into(), ..Origin::default() }).await, [full]);
    let east = Origin { cluster: "east".into(), ..Origin::default() };
    assert_eq!(part(east).await, [full, other_name]);
    assert_eq!(part(Origin { uid: "gone".into(), ..wanted.clone() }).await, []);
    assert_eq!(part(Origin { name: "clip%".into(), ..Origin::default() }).await, []);
}

pub(crate) async fn an_origin_without_parts_matches_every_job(q: Fixture) {
    let submitted = q.submit_all([job().origin(origin("video", "clip")), job()]).await;
    assert_eq!(ids(&q.list(&of_origin(Origin::default())).await), submitted);
}

pub(crate) async fn a_list_can_be_of_some_ids(q: Fixture) {
    let [a, _b, c] = q.submit_all([job(), job(), job()]).await;
    let theirs = q.of("other").submit(job()).await;
    let unknown = JobId(uuid::Uuid::from_u128(7));
    assert_eq!(ids(&q.list(&with_ids([c, unknown, a, theirs, c])).await), [a, c]);
}

pub(crate) async fn a_list_can_be_of_a_thousand_ids(q: Fixture) {
    let [a, b] = q.submit_all([job(), job()]).await;
    let unknown = (0..998).map(|number| JobId(uuid::Uuid::from_u128(number)));
    assert_eq!(ids(&q.list(&with_ids(unknown.chain([b, a]))).await), [a, b]);
}

pub(crate) async fn the_parts_of_a_filter_hold_together(q: Fixture) {
    let node = q.node("n").await;
    let running = node.holds(job().origin(origin("video", "one"))).await.id;
    let pending = q.submit(job().origin(origin("video", "two"))).await;
    q.submit(job()).await;
    let video = Origin { namespace: "video".into(), ..Origin::default() };
    let filter = Filter { states: vec![State::Pending], ..of_origin(video) };
    assert_eq!(ids(&q.list(&filter).await), [pending]);
    assert_eq!(ids(&q.list(&Filter { ids: vec![running], ..filter }).await), []);
}

pub(crate) async fn a_list_holds_whole_jobs(q: Fixture) {
    let node = q.node("n").await;
    let taken = node.holds(job().label(3.0).key("k").origin(origin("a", "b"))).await;
    node.complete(&taken).await;
    assert_eq!(q.list(&Filter::default()).await, [q.job(taken.id).await]);
}

pub(crate) async fn a_list_has_at_most_what_was_asked_for(q: Fixture) {
    q.submit_all([job(), job(), job()]).await;
    let of: Vec<Job> = q.store.jobs(&q.tenant, &Filter::default(), &first(1)).await.unwrap();
    assert_eq!(of.len(), 1);
}
