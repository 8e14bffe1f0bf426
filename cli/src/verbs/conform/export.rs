//! `girih conform --emit`: the suite's kernels as WGSL, for compilers of browsers.
//!
//! Invariant: the folder is new, so that it holds exactly the kernels of one run.

use crate::console::Console;
use crate::exit::Exit;
use girih::devices::Profile;
use girih::devices::wgpu::{Emitted, Language};
use girih::{Code, Report};
use girih_conform::{Group, Part, Suite, emit_group};
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// What was written.
#[derive(Default)]
struct Count {
    files: usize,
    kernels: usize,
    refused: usize,
}

/// Writes each group of the suite into a file of its own.
pub fn run(suite: &Suite, profile: Profile, folder: &Path, console: &Console) -> Exit {
    let cannot_write = |path: &Path, error: std::io::Error| {
        let message = format!("cannot write `{}`: {error}", path.display());
        console.fail(Code::CannotWrite, message, Some("name a new folder"))
    };
    let is_filled = std::fs::create_dir_all(folder).and_then(|()| Ok(folder.read_dir()?.next().is_some()));
    match is_filled {
        Ok(false) => {}
        Ok(true) => return cannot_write(folder, std::io::ErrorKind::DirectoryNotEmpty.into()),
        Err(error) => return cannot_write(folder, error),
    }
    let groups = match suite.groups() {
        Ok(groups) => groups,
        Err(report) => {
            console.report(&report);
            return Exit::Failed;
        }
    };
    let mut count = Count::default();
    for (part, group) in groups {
        let texts = match texts(part, &group, profile, console, &mut count) {
            Ok(texts) => texts,
            Err(report) => {
                console.report(&report);
                return Exit::Failed;
            }
        };
        for (name, text) in texts {
            let path = folder.join(name);
            if let Err(error) = File::create_new(&path).and_then(|mut file| file.write_all(&text)) {
                return cannot_write(&path, error);
            }
        }
    }
    let Count { files, kernels, refused } = count;
    if files == 0 {
        return console.fail(Code::BadArguments, format!("no kernel has `{}` in its name", suite.filter), None);
    }
    console.result(
        &format!("{kernels} kernels in {files} files, {refused} refused"),
        || json!({"kind": "emitted", "kernels": kernels, "files": files, "refused": refused}),
    );
    Exit::Ok
}

/// A group's files: names and contents.
fn texts(
    part: Part,
    group: &Group,
    profile: Profile,
    console: &Console,
    count: &mut Count,
) -> Result<Vec<(String, Vec<u8>)>, Report> {
    let emission = emit_group(group, &profile.caps(), &[Language::Wgsl])
        .map_err(|diagnostics| Report { sources: Default::default(), diagnostics })?;
    for (kernel, reason) in &emission.refused {
        console.detail(|| format!("refused: {}/{kernel}: {reason}", group.name));
    }
    count.refused += emission.refused.len();
    let mut texts = vec![];
    for sheet in emission.sheets {
        count.files += 1;
        count.kernels += sheet.kernels.len();
        let name = format!("{}-{}{}.wgsl", part.name(), group.name.replace([' ', ':'], "-"), sheet.variant);
        texts.push((name, sheet.written.into_iter().flat_map(Emitted::bytes).collect()));
    }
    Ok(texts)
}
