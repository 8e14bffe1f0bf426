//! Error numbers as POSIX counts them, which Bend programs see on every system.

use std::io::{Error, ErrorKind};

/// Bad file descriptor.
pub const EBADF: i32 = 9;
/// Invalid argument.
pub const EINVAL: i32 = 22;
/// Too many open files.
pub const EMFILE: i32 = 24;
/// Illegal seek.
pub const ESPIPE: i32 = 29;
/// Input/output error.
const EIO: i32 = 5;

/// The number of an error: the system's own on Unix, elsewhere the POSIX number of its kind.
pub fn errno(error: &Error) -> i32 {
    match error.raw_os_error() {
        Some(number) if cfg!(unix) => number,
        Some(_) | None => number_of(error.kind()),
    }
}

fn number_of(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::NotFound => 2,
        ErrorKind::Interrupted => 4,
        ErrorKind::WouldBlock => 11,
        ErrorKind::OutOfMemory => 12,
        ErrorKind::PermissionDenied => 13,
        ErrorKind::ResourceBusy => 16,
        ErrorKind::AlreadyExists => 17,
        ErrorKind::NotADirectory => 20,
        ErrorKind::IsADirectory => 21,
        ErrorKind::InvalidInput | ErrorKind::InvalidData => EINVAL,
        ErrorKind::FileTooLarge => 27,
        ErrorKind::StorageFull => 28,
        ErrorKind::NotSeekable => ESPIPE,
        ErrorKind::ReadOnlyFilesystem => 30,
        ErrorKind::BrokenPipe => 32,
        ErrorKind::DirectoryNotEmpty => 39,
        ErrorKind::InvalidFilename => 36,
        _ => EIO,
    }
}
