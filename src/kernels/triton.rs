//! Triton kernels launched with arrays and numbers of Rust.

use super::arguments::{Args, Given};
use super::launch::{Called, listed, run};
use crate::error::Error;
use crate::triton::{Argument, Constant, KernelFile, Loaded, Parameter, Request};
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::span::{Sources, Span};
use girih_ir::Scalar;
use girih_runtime::{self as runtime, Device};
use std::sync::{Arc, Mutex, PoisonError};

/// A Triton kernel, compiled when it is launched, once for each device and each kind of arguments.
#[derive(Debug)]
pub struct TritonKernel {
    file: KernelFile,
    parameters: Vec<Parameter>,
    span: Span,
    sources: Sources,
    request: Request,
    loaded: Mutex<Vec<Arc<Specialised>>>,
}

/// A kernel that was compiled for a device and some arguments.
#[derive(Debug)]
struct Specialised {
    device: Device,
    arguments: Vec<(String, Argument)>,
    loaded: Loaded,
}

impl KernelFile {
    /// A kernel of the file.
    ///
    /// ```
    /// use girih::devices::{Selector, open};
    /// use girih::triton::KernelFile;
    /// use girih::args;
    ///
    /// let device = open(&Selector::Cpu, None)?;
    /// let add = KernelFile::open("shaders/vector_add.py")?.kernel("vector_add")?;
    /// let (x, y, mut sum) = (vec![1.5_f32; 100], vec![2.0_f32; 100], vec![0.0_f32; 100]);
    /// add.launch(&device, [2, 1, 1], args![&x, &y, &mut sum, 100; BLOCK = 64])?;
    /// assert_eq!(sum, [3.5; 100]);
    /// # Ok::<(), girih::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file is no Python or has no such kernel.
    pub fn kernel(&self, name: &str) -> Result<TritonKernel, Error> {
        let kernels = self.kernels()?;
        let Some(kernel) = kernels.iter().find(|kernel| kernel.name == name) else {
            let error = Diagnostic::new(Code::KernelEntry, Span::NONE, format!("the file has no kernel `{name}`"));
            let names = || kernels.iter().map(|kernel| kernel.name.as_str());
            return Err(Error::from(match did_you_mean(name, names()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("its kernels are {}", listed(names()))),
            }));
        };
        let mut sources = Sources::default();
        sources.add(self.name(), self.text());
        let request = Request { kernel: name.to_owned(), ..Request::default() };
        let (parameters, span) = (kernel.parameters.clone(), kernel.span);
        Ok(TritonKernel { file: self.clone(), parameters, span, sources, request, loaded: Mutex::default() })
    }
}

impl TritonKernel {
    /// The same with what a launch of Triton says besides arguments: warps, stages, assertions.
    #[must_use]
    pub fn with(self, num_warps: Option<u32>, num_stages: Option<u32>, debug: bool) -> TritonKernel {
        TritonKernel {
            request: Request { num_warps, num_stages, debug, ..self.request },
            loaded: Mutex::default(),
            ..self
        }
    }

    /// Runs so many programs of the kernel on a device. It waits as [`LoadedKernel::launch`](super::LoadedKernel::launch) does.
    ///
    /// # Errors
    /// What is wrong with the kernel, with the arguments, or with the run.
    pub fn launch(&self, device: &Device, grid: [u32; 3], arguments: Args<'_>) -> Result<(), Error> {
        let wrong = |error| Error::new(self.sources.clone(), vec![error]);
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let called = Called { name: &self.request.kernel, span: self.span, parameters: &names };
        let given = called.sorted(arguments).map_err(wrong)?;
        let mut asked = vec![];
        for (name, given) in &given {
            let constexpr = self.parameters.iter().any(|parameter| parameter.name == *name && parameter.constexpr);
            let Some(argument) = argument(given, constexpr) else {
                let wanted = if constexpr { "a constant" } else { "an array with a type" };
                let message = format!("`{name}` of `{}` is {wanted}, and is given {}", called.name, given.what());
                return Err(wrong(called.wrong(&message)));
            };
            asked.push((name.clone(), argument));
        }
        let specialised = self.specialise(device, asked)?;
        let loaded = &specialised.loaded;
        let types = &loaded.head;
        let needed = given.into_iter().filter_map(|(name, given)| {
            let at = types.parameters.iter().position(|parameter| *parameter == name)?;
            Some((name, given, types.types[at]))
        });
        let command = |arguments: Vec<(String, runtime::Argument)>| {
            let arguments: Vec<(&str, runtime::Argument)> =
                arguments.iter().map(|(name, argument)| (name.as_str(), argument.clone())).collect();
            loaded.command(grid, &arguments).map_err(|error| error.into_report().diagnostics)
        };
        run(device, &called, needed.collect(), |arguments| command(arguments).map_err(first))
            .map_err(|error| Error::new(loaded.sources.clone(), vec![error]))
    }

    /// What was compiled for a device and such arguments, or is compiled for them.
    fn specialise(&self, device: &Device, arguments: Vec<(String, Argument)>) -> Result<Arc<Specialised>, Error> {
        let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|before| {
            before.device.is(device) && is_same(&before.arguments, &arguments, &before.loaded.head.exact)
        });
        if let Some(found) = found {
            return Ok(found.clone());
        }
        let request = Request { arguments: arguments.clone(), ..self.request.clone() };
        let loaded = self.file.load(device, &request)?;
        let made = Arc::new(Specialised { device: device.clone(), arguments, loaded });
        all.push(made.clone());
        Ok(made)
    }
}

/// The first of some errors.
fn first(errors: Vec<Diagnostic>) -> Diagnostic {
    let none = || Diagnostic::new(Code::Internal, Span::NONE, "an error without a diagnostic");
    errors.into_iter().next().unwrap_or_else(none)
}

/// What a Triton kernel is compiled for; none for a constant that is an array, and for an array of unknown type.
fn argument(given: &Given<'_>, constexpr: bool) -> Option<Argument> {
    if constexpr {
        return constant(given).map(Argument::Constant);
    }
    Some(match given {
        Given::Read(scalar, _) | Given::Written(scalar, _) | Given::Placed(Some(scalar), _) => {
            Argument::Buffer(*scalar)
        }
        Given::Placed(None, _) => return None,
        Given::Int(scalar, value) => Argument::Scalar(*scalar, *value as u64 & (u64::MAX >> (64 - scalar.bits()))),
        // As Python's floats are.
        Given::Float(value) => Argument::Scalar(Scalar::F32, (*value as f32).to_bits().into()),
        Given::Bool(truth) => Argument::Scalar(Scalar::Bool, u64::from(*truth)),
        Given::Text(_) | Given::None => return constant(given).map(Argument::Constant),
    })
}

/// Whether a kernel that was compiled for some arguments is right for others.
fn is_same(before: &[(String, Argument)], asked: &[(String, Argument)], exact: &[String]) -> bool {
    before.len() == asked.len()
        && before.iter().all(|(name, old)| {
            let new = asked.iter().find(|(other, _)| other == name).map(|(_, argument)| argument);
            new.is_some_and(|new| old == new || !exact.contains(name) && old.representative() == new.representative())
        })
}

/// The same as a constant of Python; none for an array.
fn constant(given: &Given<'_>) -> Option<Constant> {
    match given {
        Given::Int(_, value) => Some(Constant::Int(*value)),
        Given::Float(value) => Some(Constant::Float(*value)),
        Given::Bool(truth) => Some(Constant::Bool(*truth)),
        Given::Text(text) => Some(Constant::Text(text.clone())),
        Given::None => Some(Constant::None),
        Given::Read(..) | Given::Written(..) | Given::Placed(..) => None,
    }
}
