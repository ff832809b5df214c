//! Tests of the queue, of the pool and of both together.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::*;

const LIMITS: Limits = Limits {
    tasks: 64,
    bytes: 4 << 20,
};

fn pool(threads: usize) -> ThreadPool<'static> {
    ThreadPool::start("test", threads, 64 << 20).expect("because threads can be started")
}

fn wait_until_idle(pool: &ThreadPool<'_>) {
    while !pool.is_idle() {
        thread::yield_now();
    }
}

#[test]
fn results_come_in_order_however_long_the_tasks_take() {
    let mut queue = OrderedQueue::new(&pool(3), LIMITS);
    let (mut pushed, mut taken) = (0u64, 0);
    loop {
        while pushed < 500 && queue.has_room() {
            let number = pushed;
            queue.push(move || {
                thread::sleep(Duration::from_micros(number * 37 % 400));
                (number, 100)
            });
            pushed += 1;
        }
        match queue.take() {
            Some(result) => assert_eq!(result.expect("no panic"), taken),
            None => break,
        }
        taken += 1;
    }
    assert_eq!(taken, 500);
    assert_eq!(queue.budget.waiting(), 0);
}

#[test]
fn a_panic_is_the_result_of_its_task_alone() {
    let mut queue = OrderedQueue::new(&pool(2), LIMITS);
    for number in 0..20 {
        queue.push(move || {
            assert!(number != 7, "seven");
            (number, 1)
        });
    }
    for number in 0..20 {
        let result = queue.take().expect("as many as were pushed");
        if number == 7 {
            let panic = result.expect_err("it panicked");
            let message = panic.downcast_ref::<&str>().copied();
            assert_eq!(message, Some("seven"));
        } else {
            assert_eq!(result.expect("no panic"), number);
        }
    }
    assert!(queue.take().is_none());
}

/// The only thread of the pool is blocked: the caller runs every task itself.
#[test]
fn a_busy_pool_does_not_delay_a_queue() {
    let pool = pool(1);
    let (release, released) = mpsc::channel::<()>();
    let mut other = OrderedQueue::new(&pool, LIMITS);
    other.push(move || (released.recv().is_ok(), 1));
    wait_until_idle(&pool);
    let mut queue = OrderedQueue::new(&pool, LIMITS);
    for number in 0..50 {
        queue.push(move || (number, 1));
    }
    for number in 0..50 {
        assert_eq!(queue.take().expect("it is there").expect("no panic"), number);
    }
    release.send(()).expect("because it waits");
    assert!(other.take().expect("it is there").expect("no panic"));
}

#[test]
fn a_dropped_queue_cancels_its_tasks() {
    let pool = pool(1);
    let (release, released) = mpsc::channel::<()>();
    let done = Arc::new(AtomicU32::new(0));
    let mut queue = OrderedQueue::new(&pool, LIMITS);
    queue.push(move || (released.recv().is_ok(), 1));
    for _ in 0..10 {
        let done = done.clone();
        queue.push(move || (done.fetch_add(1, Ordering::Relaxed) == 0, 1));
    }
    let budget = queue.budget.clone();
    drop(queue);
    drop(release);
    let mut last = OrderedQueue::new(&pool, LIMITS);
    last.push(|| ((), 1));
    wait_until_idle(&pool);
    last.take().expect("it is there").expect("no panic");
    assert_eq!(done.load(Ordering::Relaxed), 0);
    assert_eq!(budget.waiting(), 0);
}

#[test]
fn waiting_bytes_are_bounded() {
    let mut queue = OrderedQueue::new(&pool(2), LIMITS);
    let (mut pushed, mut taken) = (0, 0);
    while queue.has_room() {
        queue.push(|| ((), LIMITS.bytes / 4));
        pushed += 1;
        thread::sleep(Duration::from_millis(1));
    }
    assert!(pushed < LIMITS.tasks);
    while let Some(result) = queue.take() {
        result.expect("no panic");
        taken += 1;
    }
    assert_eq!(taken, pushed);
    assert!(queue.has_room());
}

/// The pool's thread runs the second task when the first was taken, though it declined it before.
#[test]
fn declined_tasks_are_offered_again() {
    let pool = pool(1);
    let limits = Limits { tasks: 3, bytes: 10 };
    let mut queue = OrderedQueue::new(&pool, limits);
    queue.push(|| (thread::current().id(), 10));
    while !queue.is_first_done() {
        thread::yield_now();
    }
    queue.push(|| (thread::current().id(), 10));
    wait_until_idle(&pool);
    // The thread has taken the second task out of the pool; give it time to decline it.
    while !queue.tasks[1].is_marked_declined() {
        thread::yield_now();
    }
    let first = queue.take().expect("it is there").expect("no panic");
    while !queue.is_first_done() {
        thread::yield_now();
    }
    let second = queue.take().expect("it is there").expect("no panic");
    assert_eq!(first, second);
    assert_ne!(first, thread::current().id());
}

#[test]
fn urgent_tasks_run_before_others() {
    let pool = pool(1);
    let (release, released) = mpsc::channel::<()>();
    let mut blocking = OrderedQueue::new(&pool, LIMITS);
    blocking.push(move || (released.recv().is_ok(), 1));
    wait_until_idle(&pool);
    let (order, ran) = mpsc::channel();
    let mut normal = OrderedQueue::new(&pool, LIMITS);
    let mut urgent = OrderedQueue::urgent(&pool, LIMITS);
    for (name, queue) in [("normal", &mut normal), ("urgent", &mut urgent)] {
        let order = order.clone();
        queue.push(move || (order.send(name).is_ok(), 1));
    }
    drop(release);
    assert_eq!(ran.recv().ok(), Some("urgent"));
    assert_eq!(ran.recv().ok(), Some("normal"));
}

#[test]
fn items_are_taken_in_order() {
    for threads in [1, 2, 4] {
        let mut seen = Vec::new();
        let work = |n: u64| {
            if n.is_multiple_of(7) {
                thread::yield_now();
            }
            let made = vec![0u8; (n % 13) as usize * 100];
            let bytes = made.len();
            ((n, made), bytes)
        };
        let limits = Limits {
            tasks: 100,
            bytes: 2000,
        };
        let result: Result<(), ()> = in_order(threads, limits, 0..500, work, |(n, made)| {
            assert_eq!(made.len(), (n % 13) as usize * 100);
            seen.push(n);
            Ok(())
        });
        assert_eq!(result, Ok(()));
        assert!(seen.iter().copied().eq(0..500));
    }
    let none: Result<(), ()> = in_order(2, LIMITS, std::iter::empty::<u64>(), |n| (n, 0), |_| Err(()));
    assert_eq!(none, Ok(()));
}

#[test]
fn threads_stay_within_the_bytes() {
    let (made, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |_| {
        let ahead = made.fetch_add(1, Ordering::SeqCst) - taken.load(Ordering::SeqCst);
        assert!(ahead <= 10 + 3 + 1, "{ahead} tasks ahead");
        ((), 1)
    };
    let limits = Limits {
        tasks: 1000,
        bytes: 10,
    };
    let result: Result<(), ()> = in_order(3, limits, 0..200, work, |()| {
        taken.fetch_add(1, Ordering::SeqCst);
        thread::yield_now();
        Ok(())
    });
    assert_eq!(result, Ok(()));
}

#[test]
fn limits_of_nothing_still_let_one_task_through() {
    let limits = Limits { tasks: 0, bytes: 0 };
    let mut sum = 0;
    let result: Result<(), ()> = in_order(
        3,
        limits,
        0..100,
        |n| (n, 1),
        |n| {
            sum += n;
            Ok(())
        },
    );
    assert_eq!((result, sum), (Ok(()), 4950));
}

#[test]
fn an_error_of_the_consumer_stops_the_threads() {
    let made = AtomicUsize::new(0);
    let work = |n| {
        made.fetch_add(1, Ordering::SeqCst);
        (n, 1)
    };
    let limits = Limits {
        tasks: 100,
        bytes: 100,
    };
    let take = |n| if n == 3 { Err("full") } else { Ok(()) };
    assert_eq!(in_order(2, limits, 0..1_000_000, work, take), Err("full"));
    assert!(made.load(Ordering::SeqCst) < 1000);
}

/// A panic ends the call, whether other threads run a task, wait for one, or are not there.
#[test]
fn a_panic_ends_the_call() {
    for threads in [1, 2, 4] {
        let run = || {
            let work = |n: u64| {
                assert!(n != 20, "the twentieth");
                ((), 1)
            };
            let limits = Limits { tasks: 3, bytes: 5 };
            in_order(threads, limits, 0..1000, work, |()| Ok::<(), ()>(()))
        };
        assert!(catch_unwind(run).is_err());
    }
}

/// Tasks that push parts of themselves into the same pool finish, with threads that help and without.
#[test]
fn tasks_may_share_their_parts() {
    for threads in [1, 2, 5] {
        let mut sums = Vec::new();
        let result: Result<(), ()> = ThreadPool::scope(threads, |pool| {
            let limits = Limits { tasks: 3, bytes: 100 };
            let mut items = OrderedQueue::new(pool, limits);
            for item in 0..10u64 {
                let pool = pool.clone();
                items.push(move || {
                    let limits = Limits {
                        tasks: 4,
                        bytes: usize::MAX,
                    };
                    let mut parts = OrderedQueue::urgent(&pool, limits);
                    let mut sum = 0;
                    for n in 0..item * 10 {
                        parts.push(move || (n, 1));
                        if !parts.has_room() {
                            sum += parts.take().map_or(0, |part| part.expect("no panic"));
                        }
                    }
                    while let Some(part) = parts.take() {
                        sum += part.expect("no panic");
                    }
                    (sum, 1)
                });
            }
            while let Some(sum) = items.take() {
                sums.push(sum.expect("no panic"));
            }
            Ok(())
        });
        assert_eq!(result, Ok(()));
        let expected = (0..10u64).map(|item| (0..item * 10).sum::<u64>());
        assert_eq!(sums, expected.collect::<Vec<_>>());
    }
}

#[test]
fn a_queue_moves_to_another_pool() {
    let (busy, free) = (pool(1), pool(1));
    let (release, blocked) = mpsc::channel::<()>();
    let mut blocker = OrderedQueue::new(&busy, LIMITS);
    blocker.push(move || (blocked.recv().is_ok(), 0));
    wait_until_idle(&busy);
    let mut queue = OrderedQueue::new(&busy, LIMITS);
    let (sender, ran) = mpsc::channel();
    queue.push(move || (sender.send(()).is_ok(), 0));
    queue.move_to(&free);
    ran.recv_timeout(Duration::from_secs(60))
        .expect("a thread of the other pool runs it");
    release.send(()).expect("the first task waits for it");
    assert!(queue.take().is_some_and(|result| result.is_ok_and(|sent| sent)));
}
