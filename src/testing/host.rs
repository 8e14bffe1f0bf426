//! The world of a test: what it writes is kept, its input is empty, and there are no files. Its clock stands at 0 and moves only while it sleeps, so that a test gives
//! the same every time and waits for nothing.

use girih_term::io::{Host, Whence};

/// POSIX's numbers for what is refused: no permission, no such open file, no place to move to.
const EACCES: i32 = 13;
const EBADF: i32 = 9;
const ESPIPE: i32 = 29;

/// The host of a test.
#[derive(Debug, Default)]
pub(super) struct CapturedHost {
    written: Vec<u8>,
    now: u64,
}

impl CapturedHost {
    /// All that was written, to both streams in the order in which it came.
    pub fn into_text(self) -> String {
        String::from_utf8_lossy(&self.written).into_owned()
    }
}

impl Host for CapturedHost {
    fn open(&mut self, _path: &str, _mode: &str) -> Result<u32, i32> {
        Err(EACCES)
    }

    fn close(&mut self, file: u32) -> Result<(), i32> {
        if file <= 2 { Ok(()) } else { Err(EBADF) }
    }

    fn read(&mut self, file: u32, _count: usize) -> Result<Vec<u8>, i32> {
        if file == 0 { Ok(vec![]) } else { Err(EBADF) }
    }

    fn write(&mut self, file: u32, bytes: &[u8]) -> Result<(), i32> {
        if !(1..=2).contains(&file) {
            return Err(EBADF);
        }
        self.written.extend(bytes);
        Ok(())
    }

    fn flush(&mut self, file: u32) -> Result<(), i32> {
        if file <= 2 { Ok(()) } else { Err(EBADF) }
    }

    fn seek(&mut self, file: u32, _offset: i64, _from: Whence) -> Result<(), i32> {
        if file <= 2 { Err(ESPIPE) } else { Err(EBADF) }
    }

    fn now(&mut self) -> u64 {
        self.now
    }

    fn sleep(&mut self, nanoseconds: u64) {
        self.now = self.now.saturating_add(nanoseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_sees_only_what_it_has_done_itself() {
        let mut host = CapturedHost::default();
        assert_eq!(host.open("/etc/hostname", "r"), Err(EACCES));
        assert_eq!((host.read(0, 9), host.read(1, 9)), (Ok(vec![]), Err(EBADF)));
        assert_eq!((host.write(1, b"a"), host.write(2, b"b"), host.write(0, b"c")), (Ok(()), Ok(()), Err(EBADF)));
        host.sleep(5_000_000_000_000);
        assert_eq!(host.now(), 5_000_000_000_000);
        assert_eq!(host.into_text(), "ab");
    }
}
