//! Memory is not used again, nor given back, while work uses it.

use super::{Fake, LONG, SHORT, fill, imported};
use crate::driver::Driver;
use crate::{Buffer, Memory};
use girih_base::diag::Code;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn block(buffer: &Buffer) -> crate::driver::BlockId {
    buffer.in_driver().expect("it is inside").block
}

/// More streams than a word has bits: each is known by itself.
#[test]
fn memory_waits_for_each_of_many_streams() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let streams: Vec<_> = (0..70).map(|_| device.open_stream().expect("there is another")).collect();
    for used in [62, 63, 69] {
        let (theirs, heard) = imported(&device, 64);
        let a = device.allocate(Memory::of(256)).expect("there is memory");
        let before = block(&a);
        streams[used].submit(&[fill(&program, &a, 1), fill(&program, &theirs, 1)]).expect("it is right");
        drop((a, theirs));
        assert!(heard.recv_timeout(SHORT).is_err(), "stream {used} still uses it");
        let b = device.allocate(Memory::of(256)).expect("there is memory");
        assert_ne!(block(&b), before, "stream {used} still uses it");
        drop(b);
        device.trim().expect("it works");
        assert!(fake.run(used + 1));
        heard.recv_timeout(LONG).expect("the owner is told");
        device.trim().expect("it works");
    }
    assert_eq!(fake.broken(), [""; 0]);
}

#[test]
fn names_of_queues_are_used_again() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let buffer = device.allocate(Memory::of(256)).expect("there is memory");
    let before = block(&buffer);
    for _ in 0..100 {
        let stream = device.open_stream().expect("there is another");
        stream.submit(&[fill(&program, &buffer, 1)]).expect("it is right");
        stream.wait().expect("it works");
    }
    device.wait().expect("it works");
    let last = device.open_stream().expect("there is another");
    last.submit(&[fill(&program, &buffer, 2)]).expect("it is right");
    drop((buffer, last));
    assert_ne!(block(&device.allocate(Memory::of(256)).expect("there is memory")), before);
    fake.run_all();
    device.wait().expect("it works");
    assert_eq!(fake.counts().1, 1, "all of them were closed");
    assert_eq!(fake.broken(), [""; 0]);
}

/// A block comes from the cache while its own queue still uses it: another queue that gets it comes behind.
#[test]
fn another_queue_comes_behind_the_last_user_of_a_block() {
    for is_first in [true, false] {
        let fake = Fake::new();
        let device = fake.device();
        let [program, _] = Fake::programs(&device);
        let opened = device.open_stream().expect("there is another");
        let ((home, home_line), (other, other_line)) = match is_first {
            true => ((device.stream(), 0), (opened, 1)),
            false => ((opened, 1), (device.stream(), 0)),
        };
        let a = home.allocate(Memory::of(64)).expect("there is memory");
        home.submit(&[fill(&program, &a, 1)]).expect("it is right");
        let before = block(&a);
        drop(a);
        let b = home.allocate(Memory::of(64)).expect("there is memory");
        assert_eq!(block(&b), before, "it is used again at once");
        other.write(&b, 0, &[2; 64]).expect("it fits");
        other.write(&b, 0, &[3; 32]).expect("it fits");
        assert!(!fake.run(other_line), "it comes behind the other queue");
        assert!(fake.run(home_line) && fake.run(other_line));
        let mut found = [0; 64];
        other.read(&b, 0, &mut found).expect("it is there");
        assert_eq!((found[0], found[63]), (3, 2));
        // New memory has no last user.
        let c = home.allocate(Memory::of(6400)).expect("there is memory");
        home.submit(&[fill(&program, &c, 1)]).expect("it is right");
        other.write(&c, 0, &[2; 64]).expect("it fits");
        assert!(fake.run(other_line));
    }
}

/// The same where the queue was closed meanwhile.
#[test]
fn another_queue_comes_behind_a_closed_one() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let home = device.open_stream().expect("there is another");
    let a = home.allocate(Memory::of(64)).expect("there is memory");
    home.submit(&[fill(&program, &a, 1)]).expect("it is right");
    drop(a);
    let b = home.allocate(Memory::of(64)).expect("there is memory");
    drop(home);
    device.write(&b, 0, &[2; 64]).expect("it fits");
    assert!(!fake.run(0), "it comes behind the other queue");
    fake.run_all();
    let mut found = [0; 64];
    device.read(&b, 0, &mut found).expect("it is there");
    assert_eq!(found, [2; 64]);
    assert_eq!(fake.broken(), [""; 0]);
}

/// After a time limit nobody is told that his memory is free: the work may still run.
#[test]
fn nothing_is_given_back_while_work_may_never_end() {
    for at_once in [true, false] {
        let fake = Fake::new();
        let device = fake.device();
        let [program, _] = Fake::programs(&device);
        let (buffer, heard) = imported(&device, 64);
        let own = device.allocate(Memory::of(64)).expect("there is memory");
        let stream = device.open_stream().expect("there is another");
        stream.submit(&[fill(&program, &buffer, 1), fill(&program, &own, 1)]).expect("it is right");
        let fail = || {
            fake.fail_fences(Some(Code::DeviceTimeout));
            fake.fail_answers(Some(Code::DeviceTimeout));
        };
        if at_once {
            fail();
        }
        drop((buffer, own));
        fail();
        assert!(heard.recv_timeout(SHORT).is_err());
        device.trim().expect("nothing is asked");
        drop((program, stream, device));
        assert!(heard.recv_timeout(SHORT).is_err());
        assert_eq!(fake.broken(), [""; 0]);
    }
}

/// A driver that cannot record a point now, or cannot say how far it is, may do so later.
#[test]
fn what_fails_for_once_is_tried_again() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let stream = device.open_stream().expect("there is another");
    let own = device.allocate(Memory::of(64)).expect("there is memory");
    let before = block(&own);
    let (buffer, heard) = imported(&device, 64);
    stream.submit(&[fill(&program, &buffer, 1), fill(&program, &own, 1)]).expect("it is right");
    fake.fail_fences(Some(Code::DeviceMemory));
    drop((buffer, own));
    assert!(heard.recv_timeout(SHORT).is_err());
    assert_ne!(block(&device.allocate(Memory::of(64)).expect("there is memory")), before);
    fake.fail_fences(None);
    device.trim().expect_err("it says what has gone wrong");
    assert!(heard.recv_timeout(SHORT).is_err());
    fake.run_all();
    device.wait().expect("it works");
    heard.recv_timeout(LONG).expect("the owner is told");
    assert_eq!(fake.broken(), [""; 0]);
}

/// A device that is lost does nothing any more.
#[test]
fn a_lost_device_gives_all_back() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let (buffer, heard) = imported(&device, 64);
    device.submit(&[fill(&program, &buffer, 1)]).expect("it is right");
    fake.fail_fences(Some(Code::DeviceLost));
    drop(buffer);
    heard.recv_timeout(LONG).expect("the owner is told");
}

/// Nobody has to ask the device for anything.
#[test]
fn owners_are_told_by_themselves() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let (buffer, heard) = imported(&device, 64);
    device.submit(&[fill(&program, &buffer, 1)]).expect("it is right");
    drop(buffer);
    assert!(heard.recv_timeout(SHORT).is_err());
    // Nor for memory that no work has used.
    let (unused, told) = imported(&device, 64);
    drop(unused);
    told.try_recv().expect("the owner is told at once");
    assert!(fake.run(0));
    heard.recv_timeout(LONG).expect("the owner is told");
    // And before whoever waits goes on.
    let (buffer, heard) = imported(&device, 64);
    device.submit(&[fill(&program, &buffer, 1)]).expect("it is right");
    drop(buffer);
    device.wait().expect("it works");
    heard.recv_timeout(LONG).expect("the owner is told");
    // A stream is closed by itself, too.
    let stream = device.open_stream().expect("there is another");
    let own = device.allocate(Memory::of(64)).expect("there is memory");
    stream.submit(&[fill(&program, &own, 1)]).expect("it is right");
    drop(stream);
    assert_eq!(fake.counts().1, 2);
    fake.run_all();
    let begun = std::time::Instant::now();
    while fake.counts().1 > 1 {
        assert!(begun.elapsed() < LONG);
        std::thread::sleep(SHORT / 50);
    }
}

/// An owner hears of it also when the device goes first.
#[test]
fn a_device_that_goes_waits_for_memory_of_others() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let (buffer, heard) = imported(&device, 64);
    device.submit(&[fill(&program, &buffer, 1)]).expect("it is right");
    drop((buffer, program, device));
    heard.recv_timeout(LONG).expect("the owner is told");
    assert_eq!(fake.broken(), [""; 0]);
}

/// Drivers call others back when they are asked how far they are, and those may use the device.
#[test]
fn drivers_are_asked_without_locks() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let stream = device.open_stream().expect("there is another");
    let a = device.allocate(Memory::of(64)).expect("there is memory");
    stream.submit(&[fill(&program, &a, 1)]).expect("it is right");
    let (inner, busy) = (device.clone(), AtomicBool::new(false));
    fake.when_asked(move || {
        if !busy.swap(true, Ordering::Relaxed) {
            drop(inner.allocate(Memory::of(640)).expect("there is memory"));
            assert!(inner.figures().buffers < 9);
            busy.store(false, Ordering::Relaxed);
        }
    });
    let (done, heard) = std::sync::mpsc::channel();
    let asking = device.clone();
    let thread = std::thread::spawn(move || {
        drop(a);
        asking.trim().expect("it works");
        drop(asking.allocate(Memory::of(64)).expect("there is memory"));
        done.send(()).expect("the test waits");
    });
    heard.recv_timeout(LONG).expect("nobody waits for himself");
    thread.join().expect("it has ended");
    fake.when_asked(|| {});
}

/// A device behind another driver leaves nothing in the driver that both have.
#[test]
fn a_device_behind_leaves_nothing() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let behind = device.behind(Arc::new(fake.clone()));
    let stream = behind.open_stream().expect("there is another");
    let [a, b, c] = [64, 256, 512].map(|bytes| behind.allocate(Memory::of(bytes)).expect("there is memory"));
    let d = stream.allocate(Memory::of(1024)).expect("there is memory");
    let own = Fake::programs(&behind)[0].clone();
    stream.submit(&[fill(&own, &b, 1), fill(&own, &d, 1)]).expect("it is right");
    behind.submit(&[fill(&own, &c, 1)]).expect("it is right");
    drop((a, b, c, d));
    assert_eq!(fake.counts(), (4, 2));
    drop((stream, own, behind));
    assert_eq!(fake.counts().0, 4, "their queues have work");
    fake.run_all();
    device.wait().expect("it works");
    assert_eq!(fake.counts(), (0, 1));
    assert_eq!(fake.broken(), [""; 0]);
    drop(program);
}

/// What one binding reaches is never given a block that it does not reach.
#[test]
fn a_buffer_of_one_binding_gets_a_block_of_one() {
    let mut fake = Fake::new();
    (fake.caps.binding_bytes, fake.caps.buffer_bytes, fake.reach) = (1024, 1024, 4096);
    let device = fake.device();
    drop(device.allocate(Memory::of(1100)).expect("there is memory"));
    let small = device.allocate(Memory::of(960)).expect("there is memory");
    assert!(fake.size_of(block(&small)) as u64 <= fake.whole_bytes());
    drop(small);
    let large = device.allocate(Memory::of(1090)).expect("there is memory");
    assert_eq!((fake.size_of(block(&large)), device.figures().hits), (1152, 1));
}

/// A program that repeats a step with more memory than is kept in any case takes nothing new from a driver that keeps what was in use.
#[test]
fn a_step_that_is_repeated_finds_its_memory() {
    for keeps_to_peak in [false, true] {
        let mut fake = Fake::new();
        fake.keeps_to_peak = keeps_to_peak;
        let device = fake.device();
        for _ in 0..3 {
            let all: Vec<Buffer> = (0..8_u64)
                .map(|i| device.allocate(Memory::of((512 << 10) + 1000 * i)).expect("there is memory"))
                .collect();
            drop(all);
        }
        let hits = device.figures().hits;
        assert_eq!(hits == 16, keeps_to_peak, "{hits} of 24 buffers found memory");
        device.trim().expect("it may go");
        assert_eq!(device.figures().cached, 0);
    }
}

/// So does one whose step needs several sizes in turns, of which each is as much as ever lives at a time.
#[test]
fn sizes_that_take_turns_find_their_memory() {
    let mut fake = Fake::new();
    fake.keeps_to_peak = true;
    let device = fake.device();
    for _ in 0..3 {
        for bytes in [1_u64 << 20, 3 << 20] {
            let count = (6 << 20) / bytes;
            let all: Vec<Buffer> =
                (0..count).map(|_| device.allocate(Memory::of(bytes)).expect("there is memory")).collect();
            drop(all);
        }
    }
    assert_eq!(device.figures().hits, 16, "of 24 buffers the 8 first ones are new");
}

/// Work in another queue may be done after the memory's own queue was closed. The block is there for others then.
#[test]
fn a_block_outlives_its_queue() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let [home, other] = [(); 2].map(|()| device.open_stream().expect("there is another"));
    let a = home.allocate(Memory::of(64)).expect("there is memory");
    let before = block(&a);
    other.submit(&[fill(&program, &a, 1)]).expect("it is right");
    drop((a, home));
    assert!(fake.run(1));
    device.wait().expect("it works");
    assert_eq!(fake.counts().1, 2, "the queue was closed");
    assert!(fake.run(2));
    let b = device.allocate(Memory::of(64)).expect("there is memory");
    assert_eq!(block(&b), before);
    assert_eq!(fake.broken(), [""; 0]);
}
