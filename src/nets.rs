//! Interaction nets as text: opens, reads, draws and reduces `.hvm` files, and runs them with the effects that they ask for.

mod steps;

use crate::error::Error;
use crate::kernels::Kernels;
use crate::stack::on_big_stack;
use girih_base::diag::{Code, Diagnostic, Diagnostics, Severity, WarningLevels, did_you_mean};
use girih_base::span::{Sources, Span};
use girih_net::book::{Book, DefinitionId};
use girih_net::device::{self, DeviceStats, Session};
use girih_net::effects;
use girih_net::parallel::Cores;
use girih_net::picture;
use girih_net::readback;
use girih_net::reduce::{Counts, InTurn, Limits, Machine, Reducer};
use girih_runtime::{Device, DeviceKind};
use girih_term::hvm::ast;
use girih_term::io::Host;
use std::num::NonZeroUsize;
use std::path::Path;
pub use steps::Snapshot;
use web_time::Instant;

/// A book of nets.
#[derive(Clone, Debug)]
pub struct Nets {
    /// The text, for messages.
    pub sources: Sources,
    /// The definitions as they are written.
    pub text: ast::Book,
    /// The definitions, ready to be called.
    pub book: Book,
}

/// What nets can be shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetForm {
    /// Text.
    Net,
    /// A graph for Graphviz.
    Dot,
    /// A picture.
    Svg,
}

impl NetForm {
    /// A book in this form.
    pub(crate) fn show(self, book: &ast::Book) -> String {
        match self {
            NetForm::Net => book.to_string(),
            NetForm::Dot => picture::dot(book),
            NetForm::Svg => picture::svg(book),
        }
    }
}

/// What reduces a net.
pub enum Place<'d> {
    /// The host, one redex after the other: in the usual order, or in one that a seed chooses.
    InTurn(Option<u64>),
    /// So many threads of the host.
    Cores(NonZeroUsize),
    /// Kernels on a device, which may take so many bytes there, or as many as suit it.
    Device(&'d Device, Option<u64>),
}

/// What a net has become.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// Its normal form.
    pub text: String,
    /// What was done.
    pub counts: Counts,
    /// Seconds that the reduction took.
    pub seconds: f64,
    /// Seconds before it, until a device had the kernels; 0 on the host.
    pub loading: f64,
    /// What a device needed for it, if it was one.
    pub device: Option<DeviceStats>,
}

impl Nets {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or its text makes no sense.
    pub fn open(path: impl AsRef<Path>) -> Result<Nets, Error> {
        let path = path.as_ref();
        match std::fs::read_to_string(path) {
            Ok(text) => Nets::from_text(&path.display().to_string(), &text),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", path.display());
                let diagnostics = vec![Diagnostic::new(Code::CannotRead, Span::NONE, message)];
                Err(Error::from(diagnostics))
            }
        }
    }

    /// Reads a text; its name is used in messages.
    ///
    /// ```
    /// use girih::nets::Nets;
    ///
    /// let nets = Nets::from_text("square.hvm", "@main = a & @square ~ (7 a)\n@square = ({$([*] $(b r)) b} r)\n")?;
    /// let reduced = nets.reduce(None, &Default::default())?;
    /// assert_eq!((reduced.text.as_str(), reduced.counts.total()), ("49", 7));
    /// # Ok::<(), girih::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the text makes no sense.
    pub fn from_text(name: &str, text: &str) -> Result<Nets, Error> {
        let mut sources = Sources::default();
        let source = sources.add(name, text);
        let mut diags = Diagnostics::new(WarningLevels::default());
        let text = girih_term::hvm::parse::parse_book(source, text, &mut diags);
        let diagnostics = diags.into_sorted();
        if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            return Err(Error::new(sources, diagnostics));
        }
        match on_big_stack(|| Book::new(&text)) {
            Ok(book) => Ok(Nets { sources, text, book }),
            Err(diagnostics) => Err(Error::new(sources, diagnostics)),
        }
    }

    /// The book in a form.
    pub fn emit(&self, form: NetForm) -> String {
        on_big_stack(|| form.show(&self.text))
    }

    /// The kernels that reduce it on a device, with its definitions as straight code.
    ///
    /// # Errors
    /// If a definition is too large for a device.
    pub fn kernels(&self) -> Result<Kernels, Error> {
        let report = |diagnostics| Error::new(self.sources.clone(), diagnostics);
        let device::Kernels { module, .. } =
            on_big_stack(|| device::kernels(&self.book, true, true)).map_err(report)?;
        Kernels::from_text("nets.gir", &girih_ir::text::print(&module))
    }

    /// Calls a definition, `main` if none is named, and reduces its net to normal form.
    ///
    /// # Errors
    /// If there is no such definition, a limit is met, or an operation has no result.
    pub fn reduce(&self, entry: Option<&str>, limits: &Limits) -> Result<Reduced, Error> {
        self.reduce_in_order(entry, limits, None)
    }

    /// As [`reduce`](Nets::reduce), in an order that a seed chooses. Nothing depends on it but how much memory is needed.
    ///
    /// # Errors
    /// As [`reduce`](Nets::reduce).
    pub fn reduce_in_order(&self, entry: Option<&str>, limits: &Limits, seed: Option<u64>) -> Result<Reduced, Error> {
        self.run(entry, limits, Place::InTurn(seed), None)
    }

    /// As [`reduce`](Nets::reduce), on so many threads.
    ///
    /// # Errors
    /// As [`reduce`](Nets::reduce).
    pub fn reduce_in_parallel(
        &self,
        entry: Option<&str>,
        limits: &Limits,
        threads: NonZeroUsize,
    ) -> Result<Reduced, Error> {
        self.run(entry, limits, Place::Cores(threads), None)
    }

    /// As [`reduce`](Nets::reduce), by kernels on a device. `memory` are the bytes that it may take there, if it is not as much as suits the device.
    ///
    /// # Errors
    /// As [`reduce`](Nets::reduce); if the net has numbers that devices do not compute with, or the device fails.
    pub fn reduce_on(
        &self,
        entry: Option<&str>,
        limits: &Limits,
        device: &Device,
        memory: Option<u64>,
    ) -> Result<Reduced, Error> {
        self.run(entry, limits, Place::Device(device, memory), None)
    }

    /// Calls a definition, `main` if none is named, reduces its net to normal form, and has the effects performed that this asks for, if there is a
    /// host for them; the net goes on with the answer of each. Gives what is left.
    ///
    /// # Errors
    /// As [`reduce_on`](Nets::reduce_on).
    pub fn run(
        &self,
        entry: Option<&str>,
        limits: &Limits,
        place: Place<'_>,
        host: Option<&mut dyn Host>,
    ) -> Result<Reduced, Error> {
        let result = self.entry(entry).map_err(|error| vec![error]).and_then(|entry| {
            let machine = Machine::new(&self.book, limits.clone());
            match place {
                Place::InTurn(seed) => Self::reduced(machine.in_order(seed), entry, &mut InTurn, host),
                Place::Cores(threads) => Self::reduced(machine, entry, &mut Cores::new(threads), host),
                Place::Device(device, memory) => {
                    let mut options = sizes(device.info().kind);
                    options.memory = memory.unwrap_or(options.memory);
                    let started = Instant::now();
                    let mut session = on_big_stack(|| Session::open(&self.book, device, &options, limits.memory))?;
                    let loading = started.elapsed().as_secs_f64();
                    let reduced = Self::reduced(machine, entry, &mut session, host)?;
                    Ok(Reduced { loading, device: Some(session.stats()), ..reduced })
                }
            }
        });
        result.map_err(|diagnostics| Error::new(self.sources.clone(), diagnostics))
    }

    fn reduced(
        mut machine: Machine<'_>,
        entry: DefinitionId,
        reducer: &mut dyn Reducer,
        host: Option<&mut dyn Host>,
    ) -> Result<Reduced, Vec<Diagnostic>> {
        let started = Instant::now();
        let reduced = machine.place(entry).and_then(|root| reducer.reduce_for(&mut machine, root));
        let root = reduced.and_then(|root| match host {
            Some(host) => effects::perform(&mut machine, reducer, root, host),
            None => Ok(root),
        });
        let root = root.map_err(|error| vec![error])?;
        let seconds = started.elapsed().as_secs_f64();
        let text = on_big_stack(|| readback::tree(&machine, root).to_string());
        Ok(Reduced { text, counts: machine.counts(), seconds, loading: 0.0, device: None })
    }

    fn entry(&self, name: Option<&str>) -> Result<DefinitionId, Diagnostic> {
        let name = name.unwrap_or("main");
        self.book.named(name).ok_or_else(|| {
            let message = format!("there is no definition `@{name}` to start from");
            let error = Diagnostic::new(Code::MissingMain, Span::NONE, message);
            let names = self.book.definitions.iter().map(|definition| definition.name.as_str());
            error.hint(match did_you_mean(name, names) {
                Some(near) => format!("did you mean `@{near}`?"),
                None => "define `@main`, or name another definition with `--entrypoint`".to_owned(),
            })
        })
    }
}

/// How large everything is on a kind of device.
pub(crate) fn sizes(kind: DeviceKind) -> device::Options {
    let sizes = |lanes, steps, memory| device::Options { lanes, steps, memory, ..device::Options::default() };
    match kind {
        // As many places as words can name.
        DeviceKind::Cuda | DeviceKind::Wgpu => sizes(1 << 16, 1 << 11, 6 << 30),
        // Some lanes for each core and each of its vectors.
        DeviceKind::WgpuSoftware | DeviceKind::Cpu => {
            device::Options { together: false, ..sizes(1 << 9, 1 << 12, 256 << 20) }
        }
        DeviceKind::Interpreter => sizes(1 << 6, 1 << 9, 16 << 20),
    }
}
