//! Each example that the page offers is right, and gives in the worker what the command line gives.

use girih::devices::Selector;
use girih::{Code, Options, Program, RunDevice, RunOptions};
use girih_web::check::check;
use girih_web::files::{File, Language};
use girih_web::run::{self, Device};
use girih_web::{PageHost, forms};
use std::path::{Path, PathBuf};

/// The files of a folder of the repository, with their languages.
fn files(folder: &str) -> Vec<(PathBuf, File)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    let file = |path: PathBuf| {
        let language = match path.extension()?.to_str()? {
            "bend" => Language::Bend,
            "hvm" => Language::Hvm,
            "gir" => Language::Gir,
            "py" => Language::Python,
            _ => return None,
        };
        let text = std::fs::read_to_string(&path).ok()?;
        Some((path, File::new(language, text)))
    };
    paths.into_iter().filter_map(file).collect()
}

#[test]
fn programs_are_right_and_run() {
    let files = files("web/examples");
    assert!(files.len() >= 9, "{files:?}");
    for (path, file) in files {
        let checked = check(&file);
        assert!(checked.runs && checked.findings.findings.is_empty(), "{}: {}", path.display(), checked.findings.text);
        let ran = run::run(&file, Device::Worker, "", |_, _| {});
        assert!(ran.result.is_some(), "{}: {}", path.display(), ran.findings.text);
        if file.language == Language::Bend {
            let program = Program::open(&path, &Options::default());
            // By compiled code: what the worker runs is the evaluator.
            let machine = RunDevice::from(Selector::parse("interpreter").expect("it is a device"));
            let compiled = RunOptions { device: machine, ..RunOptions::default() };
            match program.run(&mut PageHost::new("", |_, _| {}), &compiled) {
                Ok(native) => assert_eq!(ran.result, Some(native.text), "{}", path.display()),
                Err(error) => assert_eq!(error.code(), Some(Code::NeedsNets), "{}: {error}", path.display()),
            }
        }
    }
}

#[test]
fn shaders_are_right_and_have_a_kernel() {
    let mut files = files("shaders");
    // The Triton kernels beside them are launched from Python.
    files.retain(|(_, file)| file.language == Language::Bend);
    assert!(files.len() >= 9, "{files:?}");
    for (path, file) in files {
        let checked = check(&file);
        assert!(checked.shader.is_some(), "{}: {}", path.display(), checked.findings.text);
        let mut painting =
            run::shader(&file).and_then(|it| run::painting(&it, Device::Worker, Some([8, 6]))).expect("it is a shader");
        assert_eq!(painting.frame(1.0).expect("it paints").pixels.len(), 48, "{}", path.display());
        let core = forms::show(&file, forms::Form::Core);
        assert!(matches!(&core, forms::Shown::Text { text } if !text.is_empty()), "{}: {core:?}", path.display());
        let ir = forms::show(&file, forms::Form::Ir);
        assert!(matches!(&ir, forms::Shown::Text { text } if text.contains("fn @")), "{}: {ir:?}", path.display());
    }
}
