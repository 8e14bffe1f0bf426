//! Futures: each has one waker, and a fence is asked for once.

use super::{Fake, LONG, SHORT, fill};
use crate::Memory;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};

/// Sends something when it is woken.
struct Bell(mpsc::Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// Panics when it is woken.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        std::panic::resume_unwind(Box::new("a waker of a test"));
    }
}

fn bell() -> (Arc<Bell>, mpsc::Receiver<()>) {
    let (sender, receiver) = mpsc::channel();
    (Arc::new(Bell(sender)), receiver)
}

#[test]
fn a_fence_is_asked_for_once_and_the_last_waker_is_woken() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let a = device.allocate(Memory::of(64)).expect("there is memory");
    device.submit(&[fill(&program, &a, 1)]).expect("it is right");
    let event = device.stream().record().expect("a point");
    let (old, unheard) = bell();
    let (new, heard) = bell();
    let mut future = pin!(event.clone());
    for _ in 0..100 {
        assert!(future.as_mut().poll(&mut Context::from_waker(&Waker::from(old.clone()))).is_pending());
        // Those that are dropped leave nothing behind.
        let mut other = pin!(event.clone());
        assert!(other.as_mut().poll(&mut Context::from_waker(&Waker::from(old.clone()))).is_pending());
    }
    assert!(future.as_mut().poll(&mut Context::from_waker(&Waker::from(new.clone()))).is_pending());
    assert_eq!(fake.wakes(), 1);
    // The test has two: `old` and `unheard` know nobody else who would ring.
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (1, 2));
    assert!(fake.run(0));
    heard.recv_timeout(LONG).expect("it is woken");
    assert!(unheard.try_recv().is_err());
    assert!(matches!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(()))));
}

#[test]
fn a_waker_that_panics_stops_nobody() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let a = device.allocate(Memory::of(64)).expect("there is memory");
    for _ in 0..2 {
        device.submit(&[fill(&program, &a, 1)]).expect("it is right");
        let event = device.stream().record().expect("a point");
        let (mut first, mut second) = (pin!(event.clone()), pin!(event.clone()));
        let (ring, heard) = bell();
        assert!(first.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::new(Bomb)))).is_pending());
        assert!(second.as_mut().poll(&mut Context::from_waker(&Waker::from(ring))).is_pending());
        assert!(fake.run(0));
        heard.recv_timeout(LONG).expect("it is woken all the same");
    }
}

/// One long wait does not keep short ones from being told. How soon they are told is not measured here.
#[test]
fn short_work_is_told_beside_long_work() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let stream = device.open_stream().expect("there is another");
    let a = device.allocate(Memory::of(64)).expect("there is memory");
    stream.submit(&[fill(&program, &a, 1)]).expect("it is right");
    let mut long = pin!(stream.record().expect("a point"));
    assert!(long.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    std::thread::sleep(SHORT);
    for _ in 0..10 {
        device.submit(&[fill(&program, &a, 1)]).expect("it is right");
        let mut short = pin!(device.stream().record().expect("a point"));
        let (ring, heard) = bell();
        assert!(short.as_mut().poll(&mut Context::from_waker(&Waker::from(ring))).is_pending());
        assert!(fake.run(0));
        heard.recv_timeout(LONG).expect("it is woken");
    }
    assert!(long.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    fake.run_all();
}
