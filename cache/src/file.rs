//! One file that is either whole or absent.
//!
//! A file holds a digest and then its data, because drivers trust what they get. It appears whole or not at all, and a file that does not match its
//! digest counts as absent.

use crate::DIGEST;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// What a file keeps, if it is there and whole. No data are kept by no file.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    let mut file = std::fs::read(path).ok()?;
    if file.len() <= DIGEST {
        return None;
    }
    let data = file.split_off(DIGEST);
    (*Sha256::digest(&data) == *file).then_some(data)
}

/// Writes a file, and the folder that it lies in if need be. Whoever else writes the same file, in this process or another, has one of its own until the
/// name is given; one that is not given its name is removed.
///
/// # Errors
/// If the folder or the file cannot be written.
pub fn write(path: &Path, data: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().suffix(".new").tempfile_in(folder)?;
    file.write_all(&Sha256::digest(data))?;
    file.write_all(data)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_as_if_it_were_not_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("inside/driver");
        assert_eq!(read(&path), None);
        write(&path, b"pipelines").expect("the file can be written");
        assert_eq!(read(&path).as_deref(), Some(&b"pipelines"[..]));
        let whole = std::fs::read(&path).expect("it is there");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).expect("the file can be written");
            assert_eq!(read(&path), None, "byte {at}");
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("the file can be written");
            assert_eq!(read(&path), None, "{length} bytes");
        }
    }

    #[test]
    fn a_file_that_cannot_get_its_name_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("driver");
        // What stands at its place cannot be replaced by a file.
        std::fs::create_dir_all(path.join("inside")).expect("a folder");
        assert!(write(&path, b"pipelines").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }
}
