//! Where arrays go. This is checked before anything runs, because a result that cannot be written is lost.

use super::{Named, Value};
use girih::{Code, Diagnostic, Span};
use std::path::{Path, PathBuf};

/// Refuses two arrays for one file, and files in folders that are not there.
pub fn writable(given: &[Named]) -> Result<(), Diagnostic> {
    let mut taken: Vec<(PathBuf, &str)> = vec![];
    for Named { name, value } in given {
        let Value::Array(_, Some(path)) = value else { continue };
        let place = place(path)?;
        if let Some((_, other)) = taken.iter().find(|(taken, _)| *taken == place) {
            let message = format!("`{other}` and `{name}` are both written to `{}`", path.display());
            return Err(Diagnostic::new(Code::BadArguments, Span::NONE, message));
        }
        // What is no file, such as /dev/null, takes any number of arrays.
        if !path.exists() || path.is_file() {
            taken.push((place, name));
        }
    }
    Ok(())
}

/// A file's one name, however it is written.
fn place(path: &Path) -> Result<PathBuf, Diagnostic> {
    let cannot = |why: String| {
        Diagnostic::new(Code::CannotWrite, Span::NONE, format!("cannot write `{}`: {why}", path.display()))
    };
    let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
        return Err(cannot("it is not the name of a file".to_owned()));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| cannot(error.to_string()))?;
    let place = folder.join(name);
    // Two names of one file are one place.
    Ok(place.canonicalize().unwrap_or(place))
}

#[cfg(test)]
mod tests {
    use super::super::named;
    use super::*;

    #[test]
    fn each_array_has_a_place_of_its_own() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path().display();
        let check = |files: &[&str]| {
            let given = files.iter().enumerate().map(|(i, file)| named(&format!("a{i}=zeros(u32,1):{at}/{file}")));
            writable(&given.collect::<Result<Vec<_>, _>>().expect("they are arguments")).map_err(|error| error.code)
        };
        std::fs::create_dir(folder.path().join("inside")).expect("a folder");
        assert_eq!(check(&["x.npy", "y.npy", "inside/x.npy"]), Ok(()));
        assert_eq!(check(&["x.npy", "./x.npy"]), Err(Code::BadArguments));
        assert_eq!(check(&["x.npy", "inside/../x.npy"]), Err(Code::BadArguments));
        assert_eq!(check(&["nowhere/x.npy"]), Err(Code::CannotWrite));
        assert_eq!(check(&["inside"]), Err(Code::CannotWrite));
        let null = |name: &str| named(&format!("{name}=zeros(u32,1):/dev/null")).expect("it is an argument");
        if cfg!(unix) {
            assert_eq!(writable(&[null("a"), null("b")]).map_err(|error| error.code), Ok(()));
        }
    }
}
