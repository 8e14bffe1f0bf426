//! The files that a command line means: a file by its name, or all in a folder that a verb can work on.

use girih::{Code, Diagnostic, Error, Sources, Span};
use std::io;
use std::path::{Path, PathBuf};

/// The file itself, or the files that are `wanted` in a folder and in those inside it, by name. What starts with a point is left out, and links are not followed. A
/// folder that cannot be read is an error beside the files of the others, and so is a named folder without files, of which `what` says what is missing.
pub fn files(named: &Path, wanted: impl Fn(&Path) -> bool, what: &str) -> Vec<Result<PathBuf, Error>> {
    if named.is_dir() { files_in(named, wanted, what, entries) } else { vec![Ok(named.to_owned())] }
}

/// What is in a folder: folders, and files.
type Entries = (Vec<PathBuf>, Vec<PathBuf>);

fn files_in(
    named: &Path,
    wanted: impl Fn(&Path) -> bool,
    what: &str,
    entries: impl Fn(&Path) -> io::Result<Entries>,
) -> Vec<Result<PathBuf, Error>> {
    let (mut found, mut errors) = (vec![], vec![]);
    let mut folders = vec![named.to_owned()];
    while let Some(folder) = folders.pop() {
        match entries(&folder) {
            Ok((inside, files)) => {
                folders.extend(inside);
                found.extend(files.into_iter().filter(|file| wanted(file)));
            }
            Err(error) => errors.push(cannot_read(&folder.display().to_string(), &error)),
        }
    }
    if found.is_empty() && errors.is_empty() {
        errors.push(failure(
            Code::CannotRead,
            format!("`{}` contains no {what}", named.display()),
            "name a folder that does, or a file",
        ));
    }
    found.sort();
    let found = found.into_iter().map(|file| file.strip_prefix("./").map_or(file.clone(), Path::to_owned));
    found.map(Ok).chain(errors.into_iter().map(Err)).collect()
}

/// The folders and the files of a folder.
fn entries(folder: &Path) -> io::Result<Entries> {
    let (mut folders, mut files) = (vec![], vec![]);
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if kind.is_dir() {
            folders.push(entry.path());
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok((folders, files))
}

/// The error of a file or a folder that cannot be read.
pub fn cannot_read(name: &str, error: &io::Error) -> Error {
    failure(Code::CannotRead, format!("cannot read `{name}`: {error}"), "name a file of text that exists")
}

/// An error without a place.
pub fn failure(code: Code, message: String, hint: &str) -> Error {
    Error::new(Sources::default(), vec![Diagnostic::new(code, Span::NONE, message).hint(hint)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_read_does_not_hide_the_others() {
        let entries = |folder: &Path| match folder.to_str() {
            Some("all") => {
                Ok((vec!["all/open".into(), "all/closed".into()], vec!["all/b.bend".into(), "all/c.txt".into()]))
            }
            Some("all/open") => Ok((vec![], vec!["all/open/a.bend".into()])),
            _ => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        };
        let is_bend = |file: &Path| file.extension().is_some_and(|end| end == "bend");
        let found = files_in(Path::new("all"), is_bend, "files of Bend", entries);
        let [Ok(first), Ok(second), Err(error)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((first.as_path(), second.as_path()), (Path::new("all/b.bend"), Path::new("all/open/a.bend")));
        assert!(error.message().contains("`all/closed`"), "{error}");
        let found = files_in(Path::new("all/none"), is_bend, "files of Bend", |_| Ok((vec![], vec![])));
        let [Err(error)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(error.message(), "`all/none` contains no files of Bend");
    }
}
