//! Effects in a worker: what a program writes goes to the page, its input is a text of the page, and there are no files.

use girih_term::io::{Host, Whence};
use std::time::Duration;
use web_time::{Instant, SystemTime, UNIX_EPOCH};

/// Numbers of errors, as on Linux.
const ENOENT: i32 = 2;
const EBADF: i32 = 9;
const ESPIPE: i32 = 29;

/// Who is told what a program writes: the number of the stream, and the bytes.
type Told = Box<dyn FnMut(u32, &[u8]) + Send>;

/// A host without files.
pub struct PageHost {
    input: Vec<u8>,
    read: usize,
    told: Told,
    start: Duration,
    clock: Instant,
}

impl PageHost {
    /// A host with a standard input, which tells what is written.
    pub fn new(input: &str, told: impl FnMut(u32, &[u8]) + Send + 'static) -> PageHost {
        PageHost {
            input: input.as_bytes().to_vec(),
            read: 0,
            told: Box::new(told),
            start: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            clock: Instant::now(),
        }
    }
}

impl Host for PageHost {
    fn open(&mut self, _path: &str, _mode: &str) -> Result<u32, i32> {
        Err(ENOENT)
    }

    fn close(&mut self, file: u32) -> Result<(), i32> {
        if file <= 2 { Ok(()) } else { Err(EBADF) }
    }

    fn read(&mut self, file: u32, count: usize) -> Result<Vec<u8>, i32> {
        if file != 0 {
            return Err(EBADF);
        }
        let end = self.input.len().min(self.read.saturating_add(count));
        let given = self.input[self.read..end].to_vec();
        self.read = end;
        Ok(given)
    }

    fn write(&mut self, file: u32, bytes: &[u8]) -> Result<(), i32> {
        if !(1..=2).contains(&file) {
            return Err(EBADF);
        }
        (self.told)(file, bytes);
        Ok(())
    }

    fn flush(&mut self, file: u32) -> Result<(), i32> {
        if file <= 2 { Ok(()) } else { Err(EBADF) }
    }

    fn seek(&mut self, file: u32, _offset: i64, _from: Whence) -> Result<(), i32> {
        if file <= 2 { Err(ESPIPE) } else { Err(EBADF) }
    }

    fn now(&mut self) -> u64 {
        (self.start + self.clock.elapsed()).as_nanos() as u64
    }

    /// A worker has nothing else to do, and no way to be left alone: it looks at the clock.
    fn sleep(&mut self, nanoseconds: u64) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_nanos(nanoseconds) {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn streams_are_there_and_files_are_not() {
        let seen: Arc<Mutex<Vec<u8>>> = Arc::default();
        let noted = seen.clone();
        let mut host = PageHost::new("ab", move |_, bytes| noted.lock().expect("nobody panics").extend(bytes));
        assert_eq!(
            (host.read(0, 1), host.read(0, 9), host.read(0, 9)),
            (Ok(b"a".to_vec()), Ok(b"b".to_vec()), Ok(vec![]))
        );
        assert_eq!((host.write(1, b"out"), host.write(0, b"x"), host.write(7, b"x")), (Ok(()), Err(EBADF), Err(EBADF)));
        assert_eq!(*seen.lock().expect("nobody panics"), b"out");
        assert_eq!((host.open("file", "r"), host.seek(1, 0, Whence::Start)), (Err(ENOENT), Err(ESPIPE)));
    }
}
