//! Files that are written completely or not at all: the contents go into a new file in the same folder, which then replaces the old one.
//!
//! Invariant: if writing fails, the old file is unchanged. Anything that is not an ordinary file, such as `/dev/stdout` or a pipe, is written to
//! directly. A link stays a link, and the file that it leads to is replaced.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tempfile::Builder;

/// Writes a file by `write`.
pub fn write(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let old = std::fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return through(File::options().write(true).open(path)?, write).map(drop);
    }
    // A link leads to what is there. One that leads nowhere is replaced.
    let target = if old.is_some() { path.canonicalize()? } else { path.to_owned() };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = Builder::new();
    if let Some(permissions) = usual_permissions() {
        builder.permissions(permissions);
    }
    let (file, unfinished) = builder.tempfile_in(folder)?.into_parts();
    let file = through(file, write)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    drop(file);
    unfinished.persist(target)?;
    Ok(())
}

/// Writes bytes to a file.
pub fn write_bytes(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    write(path, |file| file.write_all(bytes.as_ref()))
}

fn through(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut buffered = BufWriter::new(file);
    write(&mut buffered)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error)
}

/// What new files may be used for, before the system takes away what the user does not want.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
fn usual_permissions() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}
#[cfg(not(unix))]
fn usual_permissions() -> Option<Permissions> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        write_bytes(&path, "first").expect("it can be written");
        let failed = write(&path, |file| {
            file.write_all(b"second")?;
            Err(io::Error::other("enough"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).expect("it is there"), b"first");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        std::fs::write(&path, "first").expect("it can be written");
        let usual = std::fs::metadata(&path).expect("it is there").permissions();
        symlink(&path, &link).expect("a link");
        write_bytes(&link, "second").expect("it can be written");
        assert!(std::fs::symlink_metadata(&link).expect("it is there").is_symlink());
        assert_eq!(std::fs::read(&path).expect("it is there"), b"second");
        let fresh = folder.path().join("fresh");
        write_bytes(&fresh, "new").expect("it can be written");
        assert_eq!(std::fs::metadata(&fresh).expect("it is there").permissions(), usual);
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
        write_bytes(&path, "third").expect("it can be written");
        assert_eq!(std::fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_to_and_not_replaced() {
        write_bytes(Path::new("/dev/null"), "gone").expect("it takes all");
        assert!(!std::fs::metadata("/dev/null").expect("it is there").is_file());
        if Path::new("/dev/full").exists() {
            assert!(write_bytes(Path::new("/dev/full"), "too much").is_err());
        }
    }
}
