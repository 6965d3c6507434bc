use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use futures::stream;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::*;

const BUDGET: GoDuration = GoDuration(Duration::from_secs(30));

type Done = Result<(), Infallible>;

fn no_signals() -> impl Stream<Item = StopSignal> + Unpin {
    stream::pending()
}

fn one(signal: StopSignal) -> impl Stream<Item = StopSignal> + Unpin {
    stream::iter([signal]).chain(stream::pending())
}

/// The result of a run that must end; time is paused, so an hour costs nothing.
async fn ended(run: impl Future<Output = Result<(), TaskError>>) -> Result<(), TaskError> {
    tokio::time::timeout(Duration::from_hours(1), run).await.expect("the tasks must end")
}

async fn until(shutdown: Shutdown) -> Done {
    shutdown.begun().await;
    Ok(())
}

async fn forever() -> Done {
    std::future::pending().await
}

fn with_one_service() -> TaskSet {
    let mut tasks = TaskSet::default();
    tasks.service("dispatch", until(tasks.shutdown()));
    tasks
}

#[tokio::test(start_paused = true)]
async fn a_panic_stops_the_process_and_names_the_task() {
    let mut tasks = with_one_service();
    tasks.finite("sweep", async { if true { panic!("queue is gone") } else { Done::Ok(()) } });
    let error = ended(tasks.run(no_signals(), BUDGET)).await.unwrap_err();
    assert_eq!(error.to_string(), "the task sweep panicked: queue is gone");
}

#[tokio::test(start_paused = true)]
async fn an_error_stops_the_process_and_is_the_source() {
    let mut tasks = with_one_service();
    tasks.finite("sweep", async { Err("disk full") });
    let error = ended(tasks.run(no_signals(), BUDGET)).await.unwrap_err();
    assert_eq!(error.to_string(), "the task sweep failed");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "disk full");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_ends_early_stops_the_process() {
    let mut tasks = with_one_service();
    tasks.service("watch", async { Done::Ok(()) });
    let error = ended(tasks.run(no_signals(), BUDGET)).await.unwrap_err();
    assert_eq!(error.to_string(), "the task watch ended although it should run until shutdown");
}

#[tokio::test(start_paused = true)]
async fn a_support_task_that_ends_early_stops_the_process() {
    let mut tasks = with_one_service();
    tasks.support("metrics", |_| async { Done::Ok(()) });
    let error = ended(tasks.run(no_signals(), BUDGET)).await.unwrap_err();
    assert_eq!(error.to_string(), "the task metrics ended although it should run until shutdown");
}

#[tokio::test(start_paused = true)]
async fn a_finite_task_may_end_while_a_service_goes_on() {
    let mut tasks = with_one_service();
    tasks.finite("migrate", async { Done::Ok(()) });
    let shutdown = tasks.shutdown();
    let run = tasks.run(no_signals(), BUDGET);
    assert!(tokio::time::timeout(Duration::from_hours(1), run).await.is_err(), "must still run");
    assert!(!shutdown.has_begun());
}

#[tokio::test(start_paused = true)]
async fn when_only_finite_tasks_were_given_their_end_is_the_end() {
    let mut tasks = TaskSet::default();
    tasks.finite("score", async {
        sleep(Duration::from_secs(5)).await;
        Done::Ok(())
    });
    tasks.support("metrics", until);
    ended(tasks.run(no_signals(), BUDGET)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_signal_lets_every_task_end_by_itself() {
    ended(with_one_service().run(one(StopSignal::Terminate), BUDGET)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn shutdown_begun_elsewhere_is_heard() {
    let tasks = with_one_service();
    let shutdown = tasks.shutdown();
    let (ended, ()) = tokio::join!(ended(tasks.run(no_signals(), BUDGET)), async { shutdown.begin() });
    ended.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_task_that_overstays_the_budget_is_aborted_and_named() {
    struct DropFlag(Arc<Mutex<bool>>);
    impl Drop for DropFlag {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = true;
        }
    }
    let mut tasks = with_one_service();
    let dropped = Arc::new(Mutex::new(false));
    let held = DropFlag(dropped.clone());
    tasks.service("writer", async move {
        let _held = held;
        forever().await
    });
    tasks.service("reader", forever());
    let begun = Instant::now();
    let error = ended(tasks.run(one(StopSignal::Terminate), BUDGET)).await.unwrap_err();
    assert_eq!(error.to_string(), "shutdown took longer than 30s; aborted: reader, writer");
    assert_eq!(begun.elapsed().as_secs(), 30);
    tokio::task::yield_now().await;
    assert!(*dropped.lock().unwrap(), "the task must be gone, not detached");
}

#[tokio::test(start_paused = true)]
async fn a_second_signal_does_not_wait_for_the_budget() {
    let (send, mut receive) = mpsc::channel(2);
    let signals = stream::poll_fn(move |context| receive.poll_recv(context));
    let mut tasks = with_one_service();
    tasks.service("writer", forever());
    let begun = Instant::now();
    let user = async {
        send.send(StopSignal::Interrupt).await.unwrap();
        sleep(Duration::from_secs(2)).await;
        send.send(StopSignal::Interrupt).await.unwrap();
    };
    let (ended, ()) = tokio::join!(ended(tasks.run(signals, BUDGET)), user);
    assert_eq!(ended.unwrap_err().to_string(), "a second signal cut the shutdown short; aborted: writer");
    assert_eq!(begun.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn support_tasks_stop_last() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = TaskSet::default();
    let (seen, shutdown) = (order.clone(), tasks.shutdown());
    tasks.service("jobs", async move {
        shutdown.begun().await;
        sleep(Duration::from_secs(10)).await;
        seen.lock().unwrap().push("jobs");
        Done::Ok(())
    });
    let seen = order.clone();
    tasks.support("heartbeat", |shutdown| async move {
        shutdown.begun().await;
        seen.lock().unwrap().push("heartbeat");
        Done::Ok(())
    });
    ended(tasks.run(one(StopSignal::Terminate), BUDGET)).await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["jobs", "heartbeat"]);
}

#[tokio::test(start_paused = true)]
async fn the_first_problem_is_the_one_reported() {
    let mut tasks = TaskSet::default();
    let shutdown = tasks.shutdown();
    tasks.service("flush", async move {
        shutdown.begun().await;
        Err("disk full")
    });
    tasks.finite("sweep", async { Err("queue is gone") });
    tasks.service("stuck", forever());
    let error = ended(tasks.run(no_signals(), BUDGET)).await.unwrap_err();
    assert_eq!(error.to_string(), "the task sweep failed");
}

#[tokio::test(start_paused = true)]
async fn an_error_while_stopping_is_not_swallowed() {
    let mut tasks = TaskSet::default();
    let shutdown = tasks.shutdown();
    tasks.service("flush", async move {
        shutdown.begun().await;
        Err("disk full")
    });
    let error = ended(tasks.run(one(StopSignal::Terminate), BUDGET)).await.unwrap_err();
    assert_eq!(error.to_string(), "the task flush failed");
}
