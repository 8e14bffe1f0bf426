//! `@triton.autotune`: a kernel's configurations are candidates for [tuning](crate::kernels::autotune).

use super::{Configurations, Head, KernelFile, Loaded, Request, told};
use crate::error::Error;
use crate::kernels::autotune::{self, Array, Candidate, Choices, Tuning};
use crate::kernels::programs::ProgramStore;
use girih_base::diag::Diagnostic;
use girih_cache::Key;
use girih_runtime::{Command, Device};

/// A launch for which a kernel is tuned.
pub struct Purpose<'a> {
    /// The arguments, by the names of the kernel's parameters.
    pub arguments: &'a [(&'a str, girih_runtime::Argument)],
    /// All arrays among them.
    pub arrays: &'a [Array],
    /// How many programs a configuration needs.
    pub grid: &'a dyn Fn(&Head) -> Result<[u32; 3], Diagnostic>,
}

/// What was found.
#[derive(Debug)]
pub struct Tuned {
    /// The kernel in its best configuration.
    pub loaded: Loaded,
    /// Which one that is.
    pub configuration: usize,
    /// What became of the candidates, in order; empty if the choice was known.
    pub candidates: Vec<Candidate>,
}

impl KernelFile {
    /// Compiles a kernel for a device in the configuration that takes least time for a launch. Where there is nothing to choose, nothing is run.
    ///
    /// # Errors
    /// What is wrong with the kernel or the launch; if the device refuses all configurations, why it refuses the first.
    pub fn tune(
        &self,
        device: &Device,
        request: &Request,
        purpose: &Purpose<'_>,
        tuning: &Tuning,
    ) -> Result<Tuned, Error> {
        let request = &told(device, request);
        let (first, sources) = self.head(device, request)?;
        if first.configurations - request.configuration <= 1 {
            let loaded = self.load_for(device, request, Configurations::One)?;
            return Ok(Tuned { loaded, configuration: request.configuration, candidates: vec![] });
        }
        let grid = (purpose.grid)(&first).map_err(|d| Error::new(sources, vec![d]))?;
        let numbers = request.configuration..first.configurations;
        let digests = self.digests(device, request, numbers.clone(), tuning);
        let choices = Choices::of(tuning, device, &digests, &format!("{grid:?} {:?}", request.arguments));
        let in_configuration = |configuration| Request { configuration, ..request.clone() };
        if let Some(configuration) = choices.as_ref().and_then(Choices::find).filter(|i| numbers.contains(i))
            && let Ok(loaded) = self.load_for(device, &in_configuration(configuration), Configurations::One)
        {
            return Ok(Tuned { loaded, configuration, candidates: vec![] });
        }
        let mut refused = None;
        let make = |configuration| -> Result<Result<(Loaded, Command), String>, Error> {
            match self.load_for(device, &in_configuration(configuration), Configurations::One) {
                Ok(loaded) => {
                    let grid = (purpose.grid)(&loaded.head).map_err(|d| loaded.report(vec![d]))?;
                    let command = loaded.command(grid, purpose.arguments)?;
                    Ok(Ok((loaded, command)))
                }
                Err(error) => {
                    let why = error.message().to_owned();
                    refused.get_or_insert(error);
                    Ok(Err(why))
                }
            }
        };
        let wrong = |loaded: Option<&Loaded>, d: Diagnostic| match loaded {
            Some(loaded) => loaded.report(vec![d]),
            None => Error::from(d),
        };
        let found = autotune::fastest(device, numbers, (purpose.arrays, tuning), make, wrong)?;
        let is_complete = found.is_complete();
        let (configuration, loaded) = match (found.best, refused) {
            (Some(best), _) => best,
            (None, Some(error)) => return Err(error),
            // All are slow: the first one serves.
            (None, None) => {
                let loaded = self.load(device, request)?;
                (loaded.configuration, loaded)
            }
        };
        if let Some(choices) = choices.filter(|_| is_complete) {
            choices.keep(configuration);
        }
        Ok(Tuned { loaded, configuration, candidates: found.candidates })
    }

    /// The digests of a kernel's module in some configurations.
    fn digests(
        &self,
        device: &Device,
        request: &Request,
        numbers: std::ops::Range<usize>,
        tuning: &Tuning,
    ) -> Vec<Option<Key>> {
        let programs = ProgramStore::of(tuning.folder.as_deref(), device);
        numbers.fold(vec![], |mut digests, configuration| {
            digests.push(self.digest(device, &Request { configuration, ..request.clone() }, &programs));
            digests
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::{Selector, open};
    use girih_ir::Scalar;
    use girih_runtime::{Constant, Memory};
    use std::time::Duration;

    const TEXT: &str = "
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'BLOCK': b, 'MORE': m}) for b, m in [(16, 0), (64, 0), (32, 1)]], key=['n'])
@triton.jit
def doubled(x_ptr, n, BLOCK: tl.constexpr, MORE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, x + x + MORE, mask=at < n)
";

    #[test]
    fn candidates_that_agree_are_timed_and_the_choice_is_kept() {
        let n = 100u32;
        let device = open(&Selector::Interpreter(4), None).expect("it is always there");
        let buffer = device.zeroed(Memory::of(u64::from(4 * n))).expect("it is small");
        let bytes: Vec<u8> = (0..n).flat_map(u32::to_le_bytes).collect();
        device.write(&buffer, 0, &bytes).expect("it fits");
        let file = KernelFile::from_text("doubled.py", TEXT);
        let request = Request {
            kernel: "doubled".into(),
            arguments: vec![
                ("x_ptr".into(), girih_triton::Argument::Buffer(Scalar::I32)),
                ("n".into(), girih_triton::Argument::Scalar(Scalar::I32, n.into())),
            ],
            ..Request::default()
        };
        let number = Constant { ty: girih_ir::Type::Scalar(Scalar::I32), bits: n.into() };
        let arguments =
            [("x_ptr", girih_runtime::Argument::buffer(&buffer)), ("n", girih_runtime::Argument::Scalar(number))];
        let grid = |head: &Head| {
            let block = head.chosen.iter().find_map(|(name, value)| match value {
                girih_triton::Constant::Int(b) if name == "BLOCK" => u32::try_from(*b).ok(),
                _others => None,
            });
            Ok([n.div_ceil(block.unwrap_or(1)), 1, 1])
        };
        let arrays = [Array { buffer: buffer.clone(), bytes: u64::from(4 * n), element: Scalar::I32 }];
        let purpose = Purpose { arguments: &arguments, arrays: &arrays, grid: &grid };
        let folder = std::env::temp_dir().join(format!("girih-tune-{}", std::process::id()));
        let tuning = Tuning { folder: Some(folder.clone()), budget: Duration::MAX, limit: Duration::MAX };
        let tuned = file.tune(&device, &request, &purpose, &tuning).expect("it is right");
        assert!(
            matches!(tuned.candidates[..], [Candidate::Takes(_), Candidate::Takes(_), Candidate::Differs]),
            "{:?}",
            tuned.candidates
        );
        let mut now = vec![0; bytes.len()];
        device.read(&buffer, 0, &mut now).expect("it is there");
        assert_eq!(now, bytes, "tuning leaves the arrays as they were");
        // Known now: nothing is run.
        let again = file.tune(&device, &request, &purpose, &tuning).expect("it is right");
        assert_eq!((again.configuration, again.candidates), (tuned.configuration, vec![]));
        let _ = std::fs::remove_dir_all(&folder);
        // No time, no choice; and what is too slow once is not run again. Neither is kept.
        let none = Tuning { budget: Duration::ZERO, ..tuning.clone() };
        let first = file.tune(&device, &request, &purpose, &none).expect("it is right");
        assert!(matches!(first.candidates[..], [Candidate::Takes(_), Candidate::NotTried, Candidate::NotTried]));
        let slow = Tuning { limit: Duration::ZERO, ..tuning.clone() };
        let slow = file.tune(&device, &request, &purpose, &slow).expect("it is right");
        assert_eq!(slow.candidates.len(), 3, "what the budget has cut is not kept");
        assert!(slow.candidates.iter().all(|c| matches!(c, Candidate::TooSlow(_))), "{:?}", slow.candidates);
        let whole = file.tune(&device, &request, &purpose, &tuning).expect("it is right");
        assert!(matches!(whole.candidates[..], [Candidate::Takes(_), Candidate::Takes(_), Candidate::Differs]));
        let _ = std::fs::remove_dir_all(folder);
    }
}
