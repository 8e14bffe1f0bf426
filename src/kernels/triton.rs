//! Triton kernels launched with arrays and numbers of Rust.

use super::arguments::{Arg, Args, Given};
use super::launch::{Called, listed, run};
use crate::error::Error;
use crate::triton::{Argument, Constant, KernelFile, Loaded, Parameter, Request};
use girih_base::diag::{Code, Diagnostic, did_you_mean};
use girih_base::span::{Sources, Span};
use girih_ir::{Scalar, Type};
use girih_runtime::driver::Slice;
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
pub(super) struct Specialised {
    device: Device,
    /// What each single argument was compiled for.
    arguments: Vec<Kind>,
    /// Whether it was compiled for memories that do not overlap.
    apart: bool,
    /// For each single argument whether the number itself was looked at.
    exact: Vec<bool>,
    /// Which of the single arguments each parameter of the program is.
    places: Vec<usize>,
    loaded: Loaded,
}

/// An argument that has no parts: that of a parameter, or a part of one.
pub(super) struct Single<'a> {
    /// Which parameter of the kernel.
    pub slot: usize,
    /// Which part: `.0` is the first element of a tuple; nothing for an argument that is a whole.
    part: String,
    /// What is given, if anything is.
    pub given: Option<Given<'a>>,
}

/// The arguments of the parameters taken apart. Where none has parts there is one for each parameter, in order.
pub(super) fn singles(given: Vec<Option<Arg<'_>>>) -> Vec<Single<'_>> {
    fn take_apart<'a>(slot: usize, part: String, given: Given<'a>, out: &mut Vec<Single<'a>>) {
        let Given::Parts(parts) = given else { return out.push(Single { slot, part, given: Some(given) }) };
        for (name, given) in parts {
            take_apart(slot, format!("{part}.{name}"), given, out);
        }
    }
    let mut out = Vec::with_capacity(given.len());
    for (slot, given) in given.into_iter().enumerate() {
        match given {
            Some(Arg(given)) => take_apart(slot, String::new(), given, &mut out),
            None => out.push(Single { slot, part: String::new(), given: None }),
        }
    }
    out
}

/// What a single argument was compiled for; none where nothing was given.
#[derive(Clone, Debug)]
struct Kind {
    slot: usize,
    part: String,
    argument: Option<Argument>,
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

    /// Its parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Runs so many programs of the kernel on a device. It waits as [`LoadedKernel::launch`](super::LoadedKernel::launch) does.
    ///
    /// # Errors
    /// What is wrong with the kernel, with the arguments, or with the run.
    pub fn launch(&self, device: &Device, grid: [u32; 3], arguments: Args<'_>) -> Result<(), Error> {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let sorted = self.called(&names).sorted(arguments).map_err(|error| self.wrong(error))?;
        let mut by_position: Vec<Option<Arg<'_>>> = names.iter().map(|_| None).collect();
        for (name, given) in sorted {
            if let Some(position) = names.iter().position(|other| *other == name) {
                by_position[position] = Some(Arg(given));
            }
        }
        self.launch_with(device, grid, by_position)
    }

    /// The same with an argument for each of the [parameters](Self::parameters), in order; none for those that need not be given.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn launch_with(&self, device: &Device, grid: [u32; 3], given: Vec<Option<Arg<'_>>>) -> Result<(), Error> {
        let mut given = singles(given);
        let specialised = self.specialised(device, &given, are_apart(placed(&given)))?;
        let loaded = &specialised.loaded;
        let mut needed = vec![];
        for (place, ty) in specialised.parameters() {
            let single = &mut given[*place];
            let Some(value) = single.given.take() else { return Err(self.not_given(single)) };
            needed.push((self.parameters[single.slot].name.as_str(), value, *ty));
        }
        let command =
            |arguments| loaded.dispatch(grid, arguments).map_err(|error| first(error.into_report().diagnostics));
        run(device, &self.called(&[]), needed, command).map_err(|error| loaded.report(vec![error]))
    }

    /// Compiles the kernel for a device and such arguments, and launches nothing.
    ///
    /// # Errors
    /// What is wrong with the kernel or with the arguments.
    pub fn warm_up(&self, device: &Device, given: Vec<Option<Arg<'_>>>) -> Result<(), Error> {
        let given = singles(given);
        self.specialised(device, &given, are_apart(placed(&given))).map(|_| ())
    }

    /// What was compiled for a device and such arguments, whose memories overlap or not; or is compiled for them.
    pub(super) fn specialised(
        &self,
        device: &Device,
        given: &[Single<'_>],
        apart: bool,
    ) -> Result<Arc<Specialised>, Error> {
        self.specialise(device, self.kinds(given)?, apart)
    }

    /// What the kernel is compiled for where it is given these.
    fn kinds(&self, given: &[Single<'_>]) -> Result<Vec<Kind>, Error> {
        let kind = |single: &Single<'_>| {
            let (slot, part) = (single.slot, single.part.clone());
            let Some(given) = &single.given else { return Ok(Kind { slot, part, argument: None }) };
            let parameter = &self.parameters[slot];
            let Some(argument) = argument(given, parameter.constexpr) else {
                let wanted = if parameter.constexpr { "a constant" } else { "an array with a type" };
                let (name, kernel) = (&parameter.name, &self.request.kernel);
                let message = format!("`{name}{part}` of `{kernel}` is {wanted}, and is given {}", given.what());
                return Err(self.refused(&message));
            };
            Ok(Kind { slot, part, argument: Some(argument) })
        };
        given.iter().map(kind).collect()
    }

    /// An error about a launch.
    pub(super) fn refused(&self, message: &str) -> Error {
        self.wrong(self.called(&[]).wrong(message))
    }

    pub(super) fn not_given(&self, single: &Single<'_>) -> Error {
        self.refused(&format!("the parameter `{}` is not given", self.parameters[single.slot].name))
    }

    /// What a device is given for a number, or for memory of its own.
    ///
    /// # Errors
    /// If nothing is given, or nothing of the type.
    pub(super) fn in_place(&self, single: &Single<'_>, ty: Type) -> Result<runtime::Argument, Error> {
        let given = single.given.as_ref().ok_or_else(|| self.not_given(single))?;
        let name = &self.parameters[single.slot].name;
        self.called(&[]).in_place(name, given, ty).map_err(|error| self.wrong(error))
    }

    fn called<'k>(&'k self, parameters: &'k [&'k str]) -> Called<'k> {
        Called { name: &self.request.kernel, span: self.span, parameters }
    }

    fn wrong(&self, error: Diagnostic) -> Error {
        Error::new(self.sources.clone(), vec![error])
    }

    /// What was compiled for a device and such arguments, or is compiled for them.
    fn specialise(&self, device: &Device, arguments: Vec<Kind>, apart: bool) -> Result<Arc<Specialised>, Error> {
        let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = |before: &&Arc<Specialised>| {
            before.apart == apart && before.device.is(device) && before.is_right_for(&arguments)
        };
        let found = all.iter().find(is_right);
        if let Some(found) = found {
            return Ok(found.clone());
        }
        let name = |kind: &Kind| format!("{}{}", self.parameters[kind.slot].name, kind.part);
        let given = arguments.iter().filter_map(|kind| Some((name(kind), kind.argument.clone()?)));
        let request = Request { arguments: given.collect(), apart, ..self.request.clone() };
        let loaded = self.file.load(device, &request)?;
        let head = &loaded.head;
        let exact = arguments.iter().map(|kind| head.exact.contains(&name(kind))).collect();
        let place = |wanted: &String| arguments.iter().position(|kind| name(kind) == *wanted);
        let places = head.parameters.iter().filter_map(place).collect();
        let made = Arc::new(Specialised { device: device.clone(), arguments, apart, exact, places, loaded });
        all.push(made.clone());
        Ok(made)
    }
}

impl Specialised {
    /// A launch with an argument for each parameter.
    pub fn command(&self, grid: [u32; 3], arguments: Vec<runtime::Argument>) -> Result<runtime::Command, Error> {
        self.loaded.dispatch(grid, arguments)
    }

    /// What a device has said of a launch.
    pub fn report(&self, error: Diagnostic) -> Error {
        self.loaded.report(vec![error])
    }

    /// Its parameters: which of the single arguments each one is, and its type.
    pub fn parameters(&self) -> impl Iterator<Item = (&usize, &Type)> {
        self.places.iter().zip(&self.loaded.head.types)
    }

    /// Whether it is right for other arguments than those that it was compiled for.
    fn is_right_for(&self, asked: &[Kind]) -> bool {
        let like = |((old, new), exact): ((&Kind, &Kind), &bool)| {
            let same = match (&old.argument, &new.argument) {
                (Some(old), Some(new)) => old == new || !exact && old.representative() == new.representative(),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            same && (old.slot, &old.part) == (new.slot, &new.part)
        };
        self.arguments.len() == asked.len() && self.arguments.iter().zip(asked).zip(&self.exact).all(like)
    }
}

/// The memories of the device that are given. Arrays of the host have memories of their own there.
fn placed<'g>(given: &'g [Single<'_>]) -> impl Iterator<Item = &'g runtime::Buffer> {
    given.iter().filter_map(|single| match single.given.as_ref()? {
        Given::Placed(_, buffer) => Some(buffer),
        Given::Read(..) | Given::Written(..) | Given::Parts(_) => None,
        Given::Int(..) | Given::Float(..) | Given::Bool(_) | Given::Text(_) | Given::None | Given::Constant(_) => None,
    })
}

/// Whether no two memories overlap. One that reaches beyond its own is refused when it is launched.
pub(super) fn are_apart<'b>(memory: impl Iterator<Item = &'b runtime::Buffer>) -> bool {
    let mut slices: Vec<Slice> = memory.filter_map(|buffer| buffer.in_driver().ok()).collect();
    slices.sort_unstable_by_key(|slice| (slice.block.index(), slice.offset));
    slices.windows(2).all(|pair| pair[0].block != pair[1].block || pair[0].offset + pair[0].bytes <= pair[1].offset)
}

/// Whether memory begins where a kernel takes it to begin if nothing else is said.
pub(super) fn is_aligned(buffer: &runtime::Buffer) -> bool {
    buffer.in_driver().map_or(true, |slice| slice.align >= ALIGNED)
}

/// Bytes that a buffer begins at a multiple of where nothing else is said.
const ALIGNED: u32 = 16;

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
        Given::Read(scalar, _) | Given::Written(scalar, _) => Argument::Buffer(*scalar),
        Given::Placed(Some(scalar), buffer) if is_aligned(buffer) => Argument::Buffer(*scalar),
        Given::Placed(Some(scalar), _) => Argument::UnalignedBuffer(*scalar),
        Given::Placed(None, _) => return None,
        Given::Int(scalar, value) => Argument::Scalar(*scalar, *value as u64 & (u64::MAX >> (64 - scalar.bits()))),
        Given::Float(scalar, _) => {
            let number = given.number(Type::Scalar(*scalar));
            Argument::Scalar(*scalar, number.map_or(0, |constant| constant.bits))
        }
        Given::Bool(truth) => Argument::Scalar(Scalar::Bool, u64::from(*truth)),
        Given::Text(_) | Given::None | Given::Constant(_) | Given::Parts(_) => {
            return constant(given).map(Argument::Constant);
        }
    })
}

/// The same as a constant of Python; none for an array.
fn constant(given: &Given<'_>) -> Option<Constant> {
    match given {
        Given::Int(_, value) | Given::Constant(value) => Some(Constant::Int(*value)),
        Given::Float(_, value) => Some(Constant::Float(*value)),
        Given::Bool(truth) => Some(Constant::Bool(*truth)),
        Given::Text(text) => Some(Constant::Text(text.clone())),
        Given::None => Some(Constant::None),
        Given::Read(..) | Given::Written(..) | Given::Placed(..) | Given::Parts(_) => None,
    }
}
