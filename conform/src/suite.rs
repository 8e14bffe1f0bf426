//! The whole suite: which groups there are, and running them on several devices with one reference.

use super::{
    Case, Group, Mismatch, Oracle, Outcome, Program, Score, program_group, random_groups, run_group, table_groups,
    tile_groups,
};
use girih::Report;
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::{Sources, Span};
use girih_machine::interp;
use girih_runtime::Device;
use std::path::{Path, PathBuf};

/// What is run.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Only groups whose `part/name` contains this.
    pub filter: String,
    /// Whether the cases of the table are run.
    pub table: bool,
    /// A `.gir` program, or a folder of them.
    pub programs: Option<PathBuf>,
    /// How many random kernels.
    pub random: usize,
    /// How many of them in tile form.
    pub tiles: usize,
    /// From which seed.
    pub seed: u64,
    /// How many random kernels are compiled as one module.
    pub pack: usize,
}

impl Default for Suite {
    fn default() -> Suite {
        Suite { filter: String::new(), table: true, programs: None, random: 0, tiles: 0, seed: 1, pack: 16 }
    }
}

/// A part of the suite, as the results are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Cases made from the table of operations.
    Table,
    /// Programs with run lines.
    Programs,
    /// Random kernels.
    Random,
    /// Random kernels in tile form.
    Tiles,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 4] = [Part::Table, Part::Programs, Part::Random, Part::Tiles];
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Part::Table => "table",
            Part::Programs => "programs",
            Part::Random => "random",
            Part::Tiles => "tiles",
        }
    }
}

impl Suite {
    /// The groups, made one after the other.
    pub fn groups(&self) -> Result<Box<dyn Iterator<Item = (Part, Group)>>, Report> {
        let groups = self.programs()?.into_iter().map(|program| program.group);
        let programs = groups.filter(|group| !group.cases.is_empty()).map(|group| (Part::Programs, group));
        let table = if self.table { table_groups() } else { vec![] };
        let table = table.into_iter().map(|g| (Part::Table, g));
        let random = random_groups(self.seed, self.random, self.pack.max(1)).map(|g| (Part::Random, g));
        let tiles = tile_groups(self.seed, self.tiles, self.pack.max(1)).map(|g| (Part::Tiles, g));
        let suite = self.clone();
        let wanted = move |(part, group): &(Part, Group)| suite.wants(*part, group);
        Ok(Box::new(table.chain(programs).chain(random).chain(tiles).filter(wanted)))
    }

    /// The programs, with those of their lines that are for no device.
    pub fn programs(&self) -> Result<Vec<Program>, Report> {
        let files = self.programs.as_deref().map_or(Ok(vec![]), program_files)?;
        let mut programs = files.iter().map(|path| program_group(path)).collect::<Result<Vec<_>, _>>()?;
        programs.retain(|program| self.wants(Part::Programs, &program.group));
        Ok(programs)
    }

    fn wants(&self, part: Part, group: &Group) -> bool {
        format!("{}/{}", part.name(), group.name).contains(&self.filter)
    }
}

/// The programs of a folder and of those inside, except those that are wrong on purpose; or the one that is named.
pub fn program_files(place: &Path) -> Result<Vec<PathBuf>, Report> {
    if place.is_file() {
        return Ok(vec![place.to_path_buf()]);
    }
    let mut found = vec![];
    let mut folders = vec![place.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        for entry in entries.map_err(|error| cannot_read(&folder, &error.to_string()))? {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "bad") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "gir") {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        return Err(cannot_read(place, "there is no `.gir` file in it"));
    }
    found.sort();
    Ok(found)
}

fn cannot_read(path: &Path, why: &str) -> Report {
    let message = format!("cannot read programs of `{}`: {why}", path.display());
    Report { sources: Sources::default(), diagnostics: vec![Diagnostic::new(Code::CannotRead, Span::NONE, message)] }
}

/// A reference machine whose subgroups have a width, which finds faults.
pub fn reference(width: u32) -> Device {
    let options = interp::Options { subgroup: width, checked: true, ..interp::Options::default() };
    Device::new(interp::Interpreter::new(options))
}

/// Something that did not come out right.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which device, by position.
    pub device: usize,
    /// Part, group and case.
    pub case: String,
    /// What came instead.
    pub what: String,
}

/// Runs a group on devices; `failed` hears of each case that did not come out right.
pub fn run_on(group: &Group, devices: &mut [Device], failed: &mut dyn FnMut(Failure)) -> Vec<Score> {
    let mut machine = reference;
    let mut oracle = Oracle::new(group, &mut machine);
    let mut scores = vec![];
    for (position, device) in devices.iter_mut().enumerate() {
        let mut score = Score::default();
        let outcomes = run_group(&mut oracle, device);
        outcomes.iter().for_each(|outcome| score.count(outcome));
        for (case, what) in wrong(group, &outcomes) {
            failed(Failure { device: position, case: format!("{}/{}", group.name, case.name), what });
        }
        scores.push(score);
    }
    scores
}

/// The cases of a group that did not come out right, and what is wrong with them.
pub(super) fn wrong<'a>(group: &'a Group, outcomes: &'a [Outcome]) -> impl Iterator<Item = (&'a Case, String)> {
    let described = |(case, outcome)| describe(group, case, outcome).map(|what| (case, what));
    group.cases.iter().zip(outcomes).filter_map(described)
}

fn describe(group: &Group, case: &Case, outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Passed | Outcome::Refused(_) => None,
        Outcome::Different(position, m) => {
            let kernel = &group.module.functions[case.kernel];
            let name = kernel.params.get(*position).and_then(|param| kernel.values[*param].name.clone());
            let place = name.map_or(format!("argument {position}"), |name| format!("`%{name}`"));
            let Mismatch { index, found, expected, count } = m;
            Some(format!("{place}, element {index}: {found} instead of {expected} ({count} differ)"))
        }
        Outcome::Failed(error) => {
            let hint = error.hint.as_ref().map_or(String::new(), |h| format!(" ({h})"));
            Some(format!("{}: {}{hint}", error.code, error.message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_ir::Caps;
    use girih_runtime::LoadOptions;
    use std::fmt::Write;

    /// What devices of some capabilities refuse of the table and of the programs, group by group: more than before is a change that shows.
    #[test]
    fn what_is_refused() {
        let suite = Suite { programs: Some("../tests/ir".into()), ..Suite::default() };
        let groups: Vec<(Part, Group)> = suite.groups().expect("the programs can be read").collect();
        let mut text = String::new();
        for caps in [Caps::web(), Caps::cuda(75, false), Caps::cuda(80, false), Caps::cuda(90, true)] {
            writeln!(text, "{}", caps.name).expect("a string takes all");
            for (part, group) in &groups {
                let kernels: std::collections::BTreeSet<_> = group.cases.iter().map(|case| case.kernel).collect();
                let options = LoadOptions::default();
                let refused = |kernel| girih_lower::compile(&group.module, &[kernel], &caps, &options).is_err();
                let count = kernels.iter().copied().filter(|kernel| refused(*kernel)).count();
                if count > 0 {
                    let of = kernels.len();
                    writeln!(text, "  {}/{}: {count} of {of}", part.name(), group.name).expect("a string takes all");
                }
            }
        }
        insta::assert_snapshot!(text);
    }
}
