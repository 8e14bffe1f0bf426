//! Bytes to the device and back: parts of words, parts of buffers, and memory that nobody may write.

use super::{Fake, fill};
use crate::{Argument, Command, Dispatch, Grid, Memory};
use girih_base::diag::Code;

/// With a driver that moves bytes, and with one that moves whole words.
fn both(test: impl Fn(&Fake)) {
    for moves_bytes in [true, false] {
        let mut fake = Fake::new();
        fake.moves_bytes = moves_bytes;
        test(&fake);
        assert_eq!(fake.broken(), [""; 0]);
    }
}

#[test]
fn writing_a_part_leaves_its_neighbours() {
    both(|fake| {
        let device = fake.device();
        let stream = device.stream();
        let numbers = device.array(&[1u16, 2, 3, 4, 5]).expect("there is memory");
        let found = || numbers.read(&stream).expect("they are there");
        let part = numbers.slice(0, 1).write(&stream, &[7]);
        if fake.moves_bytes {
            part.expect("it fits");
            assert_eq!(found(), [7, 2, 3, 4, 5]);
            numbers.slice(2, 3).write(&stream, &[8]).expect("it fits");
            assert_eq!(found(), [7, 2, 8, 4, 5]);
        } else {
            let refused = part.expect_err("it moves whole words");
            assert!(refused.code == Code::BadArguments && refused.message.contains("multiples of 4"));
            assert_eq!(found(), [1, 2, 3, 4, 5]);
        }
        // The last word is nobody else's.
        numbers.slice(4, 1).write(&stream, &[9]).expect("it ends with the memory");
        assert_eq!(found()[4], 9);
        assert!(numbers.slice(0, 1).write(&stream, &[1, 2]).is_err(), "that is more than the part");
        assert!(numbers.slice(0, 1).buffer().slice(0, 4).in_driver().is_err());
    });
}

#[test]
fn any_part_is_read() {
    both(|fake| {
        let device = fake.device();
        let stream = device.stream();
        let bytes: Vec<u8> = (0..23).collect();
        let buffer = device.upload(&bytes).expect("there is memory");
        for first in 0..23 {
            for end in first..=23 {
                let expected = &bytes[first..end];
                let mut found = vec![99; end - first];
                device.read(&buffer, first as u64, &mut found).expect("they are there");
                assert_eq!(found, expected);
                let part = buffer.slice(first as u64, found.len() as u64);
                assert_eq!(device.numbers::<u8>(&part).expect("they are there"), expected);
                let download = stream.download(&part, 0, found.len() as u64).expect("they are there");
                assert_eq!(download.wait().expect("they come"), expected);
            }
        }
    });
}

#[test]
fn parts_beyond_a_buffer_stay_beyond_it() {
    both(|fake| {
        let device = fake.device();
        let buffer = device.zeroed(Memory::of(64)).expect("there is memory");
        let outside = [
            buffer.slice(100, 8),
            buffer.slice(100, 8).from_byte(4),
            buffer.slice(100, 8).slice(1, 4),
            buffer.slice(0, u64::MAX),
            buffer.slice(0, u64::MAX).slice(0, 1),
            buffer.slice(u64::MAX, u64::MAX).slice(1, 4),
            buffer.slice(65, 0).slice(0, 0),
            buffer.from_byte(65),
            buffer.from_byte(65).from_byte(0),
            buffer.slice(0, 8).slice(4, 8),
            buffer.slice(60, 4).from_byte(u64::MAX).slice(0, 0),
        ];
        for (i, part) in outside.into_iter().enumerate() {
            assert!(part.in_driver().is_err() && part.address().is_none(), "part {i}");
            assert!(part.typed::<u8>().is_err() && device.write(&part, 0, &[]).is_err(), "part {i}");
            assert!(device.submit(&[Command::clear(&part, 0, 0)]).is_err(), "part {i}");
            assert!(device.stream().download(&part, 0, 0).is_err(), "part {i}");
        }
        let numbers = buffer.typed::<u64>().expect("they are whole");
        assert!(numbers.slice(0, u64::MAX).read(&device.stream()).is_err());
        assert!(numbers.slice(u64::MAX, 1).read(&device.stream()).is_err());
        assert_eq!(buffer.from_byte(64).bytes(), 0);
        buffer.from_byte(64).in_driver().expect("it is inside");
    });
}

#[test]
#[allow(unsafe_code)]
fn imported_memory_begins_where_it_begins() {
    let fake = Fake::new();
    let device = fake.device();
    for skew in [0u64, 1, 2, 6, 100, 255] {
        // SAFETY: the driver of these tests has memory of its own instead.
        let buffer = unsafe { device.import(0x1000 + skew, 40, || {}) }.expect("any address will do");
        let slice = buffer.from_byte(2).in_driver().expect("it is inside");
        // A place in the block is one of an address.
        assert_eq!((slice.offset % 256, u64::from(slice.align)), ((skew + 2) % 256, 1 << (skew + 2).trailing_zeros()));
        assert_eq!(buffer.typed::<u32>().is_ok(), skew.is_multiple_of(4));
        assert!(buffer.slice(0, 1 << 40).typed::<u8>().is_err() && buffer.slice(0, 41).in_driver().is_err());
        device.write(&buffer, 1, &[7; 39]).expect("it fits");
        assert_eq!(device.numbers::<u8>(&buffer).expect("they are there")[1..], [7; 39]);
    }
    // SAFETY: as above.
    let refused = unsafe { device.import(u64::MAX - 10, 40, || {}) };
    assert_eq!(refused.expect_err("there are no such addresses").code, Code::BadArguments);
}

#[test]
#[allow(unsafe_code)]
fn nobody_writes_what_may_only_be_read() {
    let fake = Fake::new();
    let device = fake.device();
    let [program, look] = Fake::programs(&device);
    // SAFETY: the driver of these tests has memory of its own instead.
    let theirs = unsafe { device.import_read_only(0x1000, 64, || {}) }.expect("any address will do");
    let own = device.zeroed(Memory::of(64)).expect("there is memory");
    assert!(theirs.is_read_only() && theirs.slice(4, 4).is_read_only() && !own.is_read_only());
    let launch = |from: &crate::Buffer, to: &crate::Buffer| {
        let arguments = vec![Argument::buffer(from), Argument::buffer(to)];
        Command::Dispatch(Dispatch { program: look.clone(), arguments, grid: Grid::Own })
    };
    device.submit(&[launch(&theirs, &own), Command::copy((&theirs, 0), (&own, 0), 8)]).expect("it only reads");
    let refused = [
        device.write(&theirs, 0, &[0; 4]),
        device.submit(&[launch(&own, &theirs)]),
        device.submit(&[fill(&program, &theirs, 1)]),
        device.submit(&[Command::clear(&theirs, 0, 4)]),
        device.submit(&[Command::copy((&own, 0), (&theirs, 0), 8)]),
    ];
    assert!(refused.into_iter().all(|result| result.is_err_and(|error| error.code == Code::BadArguments)));
}
