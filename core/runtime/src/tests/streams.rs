//! Streams: when they are closed, and what comes after what.

use super::{Fake, LONG, fill, imported};
use crate::dlpack::{DataType, Tensor};
use crate::{Device, Memory, Stream};
use girih_base::diag::Code;

#[allow(unsafe_code)]
fn adopted(device: &Device) -> Stream {
    // SAFETY: the driver of these tests has a queue of its own instead.
    unsafe { device.adopt_stream(7) }.expect("any handle will do")
}

/// Its owner may destroy a stream as soon as we have no `Stream` of it any more: buffers and events do not need it.
#[test]
fn a_stream_of_somebody_else_is_left_alone_once_it_is_dropped() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let order = adopted(&device);
    let own = order.allocate(Memory::of(64)).expect("there is memory");
    let kept = order.allocate(Memory::of(64)).expect("there is memory");
    let (theirs, heard) = imported(&device, 64);
    let all = [&own, &kept, &theirs].map(|buffer| fill(&program, buffer, 5));
    order.submit(&all).expect("it is right");
    let done = order.record().expect("a point");
    let bytes = order.download(&kept, 0, 4).expect("it is there");
    let also = order.clone();
    drop((all, order));
    also.submit(&[fill(&program, &own, 6)]).expect("a clone has it");
    drop(also);
    fake.destroy(1);
    drop((theirs, own));
    let other = device.open_stream().expect("there is another");
    other.after_event(&done).expect("it is of this device");
    other.write(&kept, 0, &[9; 64]).expect("it fits");
    assert!(!fake.run(2), "it comes behind the event");
    assert!(!done.is_done().expect("the device works"));
    assert!(fake.run(1) && fake.run(2));
    heard.recv_timeout(LONG).expect("the owner is told");
    done.wait().expect("nothing fails");
    assert_eq!(bytes.wait().expect("they are there"), [5; 4]);
    let again = device.allocate(Memory::of(64)).expect("there is memory");
    device.write(&again, 0, &[1; 64]).expect("it fits");
    drop((done, kept, again, other, program, device));
    assert_eq!(fake.broken(), [""; 0]);
}

/// Its point cannot be recorded: nobody knows when its work is done, so what it uses stays.
#[test]
fn memory_stays_where_nobody_can_tell() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let order = adopted(&device);
    let (theirs, heard) = imported(&device, 64);
    order.submit(&[fill(&program, &theirs, 5)]).expect("it is right");
    fake.fail_fences(Some(Code::DeviceMemory));
    drop(order);
    fake.destroy(1);
    fake.fail_fences(None);
    drop(theirs);
    let _ = device.trim();
    assert!(heard.try_recv().is_err());
    assert_eq!(fake.broken(), [""; 0]);
}

#[test]
fn a_stream_comes_after_an_event_and_not_after_what_follows_it() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let [first, second] = [(); 2].map(|()| device.open_stream().expect("there is another"));
    let [a, b] = [(); 2].map(|()| device.allocate(Memory::of(64)).expect("there is memory"));
    first.submit(&[fill(&program, &a, 1)]).expect("it is right");
    let event = first.record().expect("a point");
    second.after_event(&event).expect("it is of this device");
    second.submit(&[fill(&program, &b, 1)]).expect("it is right");
    assert!(!fake.run(2));
    // More work comes in the first one, which comes behind something that is not done.
    let third = device.open_stream().expect("there is another");
    third.submit(&[fill(&program, &b, 1)]).expect("it is right");
    first.after(&third).expect("it is of this device");
    first.submit(&[fill(&program, &a, 2)]).expect("it is right");
    assert!(!fake.run(1) && event.is_done().expect("the device works"));
    assert!(fake.run(2), "it does not wait for what comes later");
    // An event that is done is nothing to wait for; nor is one of the same stream.
    first.after_event(&event).expect("it is done");
    let own = first.record().expect("a point");
    first.after_event(&own).expect("it is of this device");
    assert!(fake.run(3) && fake.run(1));
    let elsewhere = Fake::new().device();
    assert_eq!(elsewhere.stream().after_event(&event).expect_err("it is of another device").code, Code::BadArguments);
}

/// Whoever takes memory for his own stream has it behind all that used it, and until what he has queued there is done.
#[test]
fn memory_is_lent_to_the_stream_of_a_consumer() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let (ours, theirs) = (device.open_stream().expect("there is another"), adopted(&device));
    let buffer = device.allocate(Memory::of(64)).expect("there is memory");
    let block = buffer.in_driver().expect("it is inside").block;
    ours.submit(&[fill(&program, &buffer, 1)]).expect("it is right");
    theirs.uses(&buffer).expect("it is of this device");
    // Only the consumer knows of this.
    let other = device.allocate(Memory::of(64)).expect("there is memory");
    theirs.submit(&[fill(&program, &other, 1)]).expect("it is right");
    assert!(!fake.run(2), "it comes behind our work");
    assert!(fake.run(1));
    drop(buffer);
    let next = device.allocate(Memory::of(64)).expect("there is memory");
    assert_ne!(next.in_driver().expect("it is inside").block, block, "the consumer may still use it");
    assert!(fake.run(2));
    let next = device.allocate(Memory::of(64)).expect("there is memory");
    assert_eq!(next.in_driver().expect("it is inside").block, block);
    // Tensors of devices whose memory has no addresses are refused as before.
    let tensor = Tensor::new(next, DataType::unsigned(8), &[64]).expect("it fits");
    assert!(tensor.export_for(&theirs).is_err());
}

/// What a driver says while nobody waits is told to the next one who does.
#[test]
fn errors_found_by_the_way_are_told() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, _] = Fake::programs(&device);
    let stream = device.open_stream().expect("there is another");
    let a = device.allocate(Memory::of(64)).expect("there is memory");
    stream.submit(&[fill(&program, &a, 1)]).expect("it is right");
    fake.fail_answers(Some(Code::DeviceCompiler));
    drop(a);
    fake.fail_answers(None);
    assert_eq!(device.wait().expect_err("something was wrong").code, Code::DeviceCompiler);
    device.wait().expect("it was told");
}
