//! Effects on the real machine: files, standard streams, time.

mod errno;
mod files;
mod stdin;

use files::Files;
use girih_term::io::{Host, Whence};
use std::io::{self, BufWriter, IsTerminal, LineWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use stdin::Stdin;

/// A sleeping program looks this often whether it was stopped.
const NAP: Duration = Duration::from_millis(50);

/// Performs effects by the standard library.
///
/// What a program writes to its standard output is collected unless that is a terminal; it is handed on when the program
/// flushes, reads its standard input, sleeps or ends.
pub struct SystemHost {
    files: Files,
    interrupt: Option<Arc<AtomicBool>>,
    /// The time when the host was made, since 1970.
    start: Duration,
    clock: Instant,
}

impl SystemHost {
    /// A host with the streams of this process.
    pub fn new() -> SystemHost {
        let stdin = Stdin::new(io::stdin(), io::stdin().is_terminal());
        SystemHost {
            files: Files::new(stdin, collected(io::stdout()), Box::new(io::stderr())),
            interrupt: None,
            start: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            clock: Instant::now(),
        }
    }

    /// Ends a sleep when the flag is raised.
    pub fn interrupted_by(mut self, flag: Arc<AtomicBool>) -> SystemHost {
        self.interrupt = Some(flag);
        self
    }

    /// Takes paths of files relative to a folder.
    pub fn in_folder(mut self, folder: &Path) -> SystemHost {
        self.files.set_folder(folder);
        self
    }

    /// Reads standard input from elsewhere.
    pub fn with_stdin(mut self, stream: impl Read + Send + 'static) -> SystemHost {
        self.files.set_stdin(Stdin::new(stream, false));
        self
    }

    /// Writes standard output elsewhere.
    pub fn with_stdout(mut self, stream: Box<dyn Write + Send>) -> SystemHost {
        self.files.set_stdout(stream);
        self
    }

    /// Writes standard error elsewhere.
    pub fn with_stderr(mut self, stream: Box<dyn Write + Send>) -> SystemHost {
        self.files.set_stderr(stream);
        self
    }

    fn interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

impl Default for SystemHost {
    fn default() -> SystemHost {
        SystemHost::new()
    }
}

impl std::fmt::Debug for SystemHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SystemHost").finish_non_exhaustive()
    }
}

/// People see every line at once, files and pipes get large pieces.
fn collected(stream: io::Stdout) -> Box<dyn Write + Send> {
    if stream.is_terminal() { Box::new(LineWriter::new(stream)) } else { Box::new(BufWriter::new(stream)) }
}

impl Host for SystemHost {
    fn open(&mut self, path: &str, mode: &str) -> Result<u32, i32> {
        self.files.open(path, mode)
    }

    fn close(&mut self, file: u32) -> Result<(), i32> {
        self.files.close(file)
    }

    fn read(&mut self, file: u32, count: usize) -> Result<Vec<u8>, i32> {
        self.files.read(file, count)
    }

    fn write(&mut self, file: u32, bytes: &[u8]) -> Result<(), i32> {
        self.files.write(file, bytes)
    }

    fn flush(&mut self, file: u32) -> Result<(), i32> {
        self.files.flush(file)
    }

    fn seek(&mut self, file: u32, offset: i64, from: Whence) -> Result<(), i32> {
        self.files.seek(file, offset, from)
    }

    fn now(&mut self) -> u64 {
        // Started at the time of day, so that two runs differ, and counted by a clock that is never set back.
        (self.start + self.clock.elapsed()).as_nanos() as u64
    }

    fn sleep(&mut self, nanoseconds: u64) {
        // Whoever sleeps has shown what there is to be seen; a stream that is gone is found when it is written to again.
        let _ = self.files.flush(1);
        let end = Instant::now().checked_add(Duration::from_nanos(nanoseconds));
        while !self.interrupted() {
            let left = end.map_or(NAP, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> (SystemHost, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("the system has a folder for temporary files");
        (SystemHost::new().in_folder(folder.path()), folder)
    }

    #[test]
    fn what_is_written_can_be_read() {
        let (mut host, _folder) = host();
        let file = host.open("text", "w").expect("the folder can be written");
        assert_eq!(file, 3);
        assert_eq!(host.write(file, b"one\ntwo"), Ok(()));
        assert_eq!(host.close(file), Ok(()));
        let file = host.open("text", "r").expect("the file was written");
        assert_eq!(file, 3);
        assert_eq!(host.seek(file, -3, Whence::End), Ok(()));
        assert_eq!(host.read(file, 100), Ok(b"two".to_vec()));
        assert_eq!(host.seek(file, 0, Whence::Start), Ok(()));
        assert_eq!(host.read(file, 3), Ok(b"one".to_vec()));
    }

    #[test]
    fn errors_are_numbers() {
        let (mut host, _folder) = host();
        assert_eq!(host.open("nothing", "r"), Err(2));
        assert_eq!(host.open("text", "x"), Err(errno::EINVAL));
        for file in [1, 3, 255, u32::MAX] {
            assert_eq!(host.read(file, 1), Err(errno::EBADF), "{file}");
        }
        assert_eq!(host.write(0, b"x"), Err(errno::EBADF));
        assert_eq!(host.close(7), Err(errno::EBADF));
        assert_eq!(host.seek(1, 0, Whence::Start), Err(errno::ESPIPE));
        let file = host.open("text", "w").expect("the folder can be written");
        assert_eq!(host.seek(file, -1, Whence::Start), Err(errno::EINVAL));
    }

    #[test]
    fn there_are_only_so_many_files() {
        let (mut host, _folder) = host();
        let opened: Vec<u32> = std::iter::from_fn(|| host.open("text", "a").ok()).take(300).collect();
        assert_eq!(opened, (3..256).collect::<Vec<u32>>());
        assert_eq!(host.open("text", "a"), Err(errno::EMFILE));
        assert_eq!(host.close(100), Ok(()));
        assert_eq!(host.open("text", "a"), Ok(100));
    }

    #[test]
    fn a_raised_flag_ends_a_sleep() {
        let flag = Arc::new(AtomicBool::new(true));
        // It would be five centuries.
        SystemHost::new().interrupted_by(flag).sleep(u64::MAX);
    }

    #[test]
    fn the_clock_goes_on() {
        let mut host = SystemHost::new();
        let before = host.now();
        host.sleep(1_000_000);
        assert!(host.now() >= before + 1_000_000);
    }
}
