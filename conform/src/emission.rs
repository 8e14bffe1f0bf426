//! The kernels of the suite in a shading language, for compilers that are not behind a device: a browser's, Metal's, Direct3D's.
//!
//! Invariant: each kernel that has a case is written or refused by name; any other error is a mistake of a code generator.

use super::{Case, Group};
use girih_base::diag::{Code, Diagnostic};
use girih_ir::{Caps, FunctionId};
use girih_lower::compile;
use girih_runtime::LoadOptions;
use girih_wgpu::{Emitted, Language, emit};

/// The kernels of a group with the same values of specialisation constants.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// The values, as `_n=4`; nothing if there are none. Sheets of a group differ in it.
    pub variant: String,
    /// The names of the kernels.
    pub kernels: Vec<String>,
    /// The kernels as one module, in the languages that were asked for.
    pub written: Vec<Emitted>,
}

/// A group in shading languages.
#[derive(Clone, Debug, Default)]
pub struct Emission {
    /// What was written.
    pub sheets: Vec<Sheet>,
    /// The names of kernels that need what the device lacks, and what that is.
    pub refused: Vec<(String, String)>,
}

/// Values of specialisation constants.
type Values = Vec<(String, u64)>;

/// Writes a group's kernels, lowered for a device's capabilities, in some languages.
pub fn emit_group(group: &Group, caps: &Caps, languages: &[Language]) -> Result<Emission, Vec<Diagnostic>> {
    let mut emission = Emission::default();
    for (values, kernels) in variants(&group.cases) {
        let write = |kernels: &[FunctionId]| write(group, kernels, &values, caps, languages);
        let sheet = match write(&kernels) {
            Ok(sheet) => sheet,
            Err(_) => {
                let mut accepted = vec![];
                for kernel in kernels {
                    match write(&[kernel]) {
                        Ok(_) => accepted.push(kernel),
                        Err(errors) => emission.refused.push((name(group, kernel), reason(errors)?)),
                    }
                }
                if accepted.is_empty() {
                    continue;
                }
                write(&accepted)?
            }
        };
        emission.sheets.push(sheet);
    }
    Ok(emission)
}

/// The kernels of cases by the values of their specialisation constants, each once.
fn variants(cases: &[Case]) -> Vec<(Values, Vec<FunctionId>)> {
    let mut variants: Vec<(Values, Vec<FunctionId>)> = vec![];
    for case in cases {
        match variants.iter_mut().find(|(values, _)| *values == case.specialisations) {
            Some((_, kernels)) if kernels.contains(&case.kernel) => {}
            Some((_, kernels)) => kernels.push(case.kernel),
            None => variants.push((case.specialisations.clone(), vec![case.kernel])),
        }
    }
    variants
}

fn write(
    group: &Group,
    kernels: &[FunctionId],
    values: &Values,
    caps: &Caps,
    languages: &[Language],
) -> Result<Sheet, Vec<Diagnostic>> {
    let options = LoadOptions { specialisations: values.clone(), ..LoadOptions::default() };
    let compiled = compile(&group.module, kernels, caps, &options)?;
    let written = languages.iter().map(|language| emit(&compiled, caps, *language)).collect::<Result<_, _>>()?;
    Ok(Sheet {
        variant: values.iter().map(|(name, value)| format!("_{name}={value}")).collect(),
        kernels: kernels.iter().map(|kernel| name(group, *kernel)).collect(),
        written,
    })
}

fn name(group: &Group, kernel: FunctionId) -> String {
    group.module.functions[kernel].name.to_string()
}

/// Why a kernel was refused, if the device is the reason.
fn reason(errors: Vec<Diagnostic>) -> Result<String, Vec<Diagnostic>> {
    match errors.first() {
        Some(first) if errors.iter().all(|e| matches!(e.code, Code::NeedsFeature | Code::OverLimit)) => {
            Ok(first.message.clone())
        }
        Some(_) | None => Err(errors),
    }
}
