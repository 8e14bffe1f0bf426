//! Open files and their descriptors. 0, 1 and 2 are the standard streams; the lowest free number from 3 on is given to the
//! next file that is opened. Every failure is an [`errno`] number.

use super::errno::{EBADF, EINVAL, EMFILE, ESPIPE, errno};
use super::stdin::Stdin;
use girih_term::io::Whence;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How many files may be open at the same time, the standard streams included.
const MOST: usize = 256;

/// The files of a running program.
pub struct Files {
    stdin: Option<Stdin>,
    stdout: Option<Box<dyn Write + Send>>,
    stderr: Option<Box<dyn Write + Send>>,
    opened: Vec<Option<File>>,
    folder: PathBuf,
}

impl Files {
    /// The standard streams, and no file.
    pub fn new(stdin: Stdin, stdout: Box<dyn Write + Send>, stderr: Box<dyn Write + Send>) -> Files {
        Files { stdin: Some(stdin), stdout: Some(stdout), stderr: Some(stderr), opened: vec![], folder: PathBuf::new() }
    }

    /// Makes paths relative to `folder`.
    pub fn set_folder(&mut self, folder: &Path) {
        self.folder = folder.to_path_buf();
    }

    /// Replaces standard input.
    pub fn set_stdin(&mut self, stdin: Stdin) {
        self.stdin = Some(stdin);
    }

    /// Replaces standard output.
    pub fn set_stdout(&mut self, stdout: Box<dyn Write + Send>) {
        self.stdout = Some(stdout);
    }

    /// Replaces standard error.
    pub fn set_stderr(&mut self, stderr: Box<dyn Write + Send>) {
        self.stderr = Some(stderr);
    }

    /// Opens a file; the modes are those of C.
    pub fn open(&mut self, path: &str, mode: &str) -> Result<u32, i32> {
        let free = self.opened.iter().position(Option::is_none).unwrap_or(self.opened.len());
        if free + 3 >= MOST {
            return Err(EMFILE);
        }
        let options = options(mode).ok_or(EINVAL)?;
        let file = options.open(self.folder.join(path)).map_err(|e| errno(&e))?;
        if free == self.opened.len() {
            self.opened.push(None);
        }
        self.opened[free] = Some(file); // `free` is a position of `opened`, or was, and then it has grown.
        Ok(free as u32 + 3)
    }

    /// Closes a file.
    pub fn close(&mut self, descriptor: u32) -> Result<(), i32> {
        let was_open = match descriptor {
            0 => self.stdin.take().is_some(),
            1 => {
                self.flush(1)?;
                self.stdout.take().is_some()
            }
            2 => self.stderr.take().is_some(),
            _ => self.slot(descriptor).and_then(Option::take).is_some(),
        };
        if was_open { Ok(()) } else { Err(EBADF) }
    }

    /// Reads up to `count` bytes; fewer only at the end of the file, or at the end of a line of a terminal.
    pub fn read(&mut self, descriptor: u32, count: usize) -> Result<Vec<u8>, i32> {
        match descriptor {
            0 => {
                // Whoever is asked for input has to see the question.
                let _ = self.flush(1);
                self.stdin.as_mut().ok_or(EBADF)?.read(count).map_err(|e| errno(&e))
            }
            1 | 2 => Err(EBADF),
            _ => {
                let mut bytes = vec![];
                self.file(descriptor)?.take(count as u64).read_to_end(&mut bytes).map_err(|e| errno(&e))?;
                Ok(bytes)
            }
        }
    }

    /// Writes all the bytes.
    pub fn write(&mut self, descriptor: u32, bytes: &[u8]) -> Result<(), i32> {
        self.writer(descriptor)?.write_all(bytes).map_err(|e| errno(&e))
    }

    /// Hands on what has been written.
    pub fn flush(&mut self, descriptor: u32) -> Result<(), i32> {
        if descriptor == 0 {
            return if self.stdin.is_some() { Ok(()) } else { Err(EBADF) };
        }
        self.writer(descriptor)?.flush().map_err(|e| errno(&e))
    }

    /// Moves to another place of a file.
    pub fn seek(&mut self, descriptor: u32, offset: i64, from: Whence) -> Result<(), i32> {
        match (descriptor, from) {
            (0, Whence::Current) => self.stdin.as_mut().ok_or(EBADF)?.step(offset).ok_or(ESPIPE),
            (0..=2, _) => Err(ESPIPE),
            (_, Whence::Start) => {
                let offset = u64::try_from(offset).map_err(|_| EINVAL)?;
                self.seek_file(descriptor, SeekFrom::Start(offset))
            }
            (_, Whence::Current) => self.seek_file(descriptor, SeekFrom::Current(offset)),
            (_, Whence::End) => self.seek_file(descriptor, SeekFrom::End(offset)),
        }
    }

    fn seek_file(&mut self, descriptor: u32, to: SeekFrom) -> Result<(), i32> {
        self.file(descriptor)?.seek(to).map(|_| ()).map_err(|e| errno(&e))
    }

    fn writer(&mut self, descriptor: u32) -> Result<&mut dyn Write, i32> {
        match descriptor {
            0 => Err(EBADF),
            1 => self.stdout.as_mut().map(|w| w as &mut dyn Write).ok_or(EBADF),
            2 => self.stderr.as_mut().map(|w| w as &mut dyn Write).ok_or(EBADF),
            _ => self.file(descriptor).map(|f| f as &mut dyn Write),
        }
    }

    fn file(&mut self, descriptor: u32) -> Result<&mut File, i32> {
        self.slot(descriptor).and_then(Option::as_mut).ok_or(EBADF)
    }

    fn slot(&mut self, descriptor: u32) -> Option<&mut Option<File>> {
        self.opened.get_mut((descriptor as usize).checked_sub(3)?)
    }
}

/// What a mode of C's `fopen` asks for.
fn options(mode: &str) -> Option<OpenOptions> {
    let mut options = OpenOptions::new();
    match mode.replace('b', "").as_str() {
        "r" => options.read(true),
        "r+" => options.read(true).write(true),
        "w" => options.write(true).create(true).truncate(true),
        "w+" => options.read(true).write(true).create(true).truncate(true),
        "a" => options.append(true).create(true),
        "a+" => options.read(true).append(true).create(true),
        _ => return None,
    };
    Some(options)
}

/// Flushes what a program has written, whatever comes of it.
impl Drop for Files {
    fn drop(&mut self) {
        for stream in [&mut self.stdout, &mut self.stderr].into_iter().flatten() {
            match stream.flush() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(_) => {} // Nobody is left who could be told.
            }
        }
    }
}
