//! Reads and runs the run lines of Triton kernels, which say what a kernel is given and what must come of it.
//!
//! ```text
//! run   = "# run:" kernel "[" x ["," y ["," z]] "]" "(" [ name "=" value {"," name "=" value} ] ")"
//! value = array                                            as on the run lines of `.gir`: f32[1, 2] -> f32[2, 4] ~ 1e-5
//!       | number | "True" | "False" | "None" | quoted text  an integer is `i32`, or `i64` if it does not fit
//! ```
//!
//! Invariant: a line passes only if the device gave what the line states.

use crate::arrays::{self, Placed};
use crate::files::File;
use girih::ir::text::run_lines::{MemoryArgument, memory_argument};
use girih::ir::{Module, Scalar, Verified};
use girih::runtime::{self, Device};
use girih::triton::{Argument, Constant, Kernel, KernelFile, Request};
use girih::{Code, Diagnostic, Error, Sources};
use girih_base::diag::did_you_mean;
use girih_base::span::{SourceId, Span};
use std::ops::Range;

/// What begins a run line.
const MARK: &str = "# run:";

/// A file of Triton kernels with its run lines.
pub struct Launches {
    file: KernelFile,
    kernels: Vec<Kernel>,
    sources: Sources,
    /// The lines, in order.
    pub lines: Vec<LaunchLine>,
}

/// A run line.
pub struct LaunchLine {
    span: Span,
    kernel: String,
    grid: [u32; 3],
    arguments: Vec<(String, Value)>,
}

/// What a parameter is given.
enum Value {
    Array(MemoryArgument),
    Number(Argument),
    Constant(Constant),
}

impl Launches {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is no Python, or a run line cannot be read.
    pub fn read(file: &File) -> Result<Launches, Error> {
        let kernel_file = KernelFile::from_text(file.language.file(), &file.text);
        let kernels = kernel_file.kernels()?;
        let mut sources = Sources::default();
        let source = sources.add(file.language.file(), &*file.text);
        match lines(source, &file.text, &kernels) {
            Ok(lines) => Ok(Launches { file: kernel_file, kernels, sources, lines }),
            Err(errors) => Err(Error::new(sources, errors)),
        }
    }

    /// Compiles the kernel of each line, and throws away what it becomes.
    ///
    /// # Errors
    /// What is wrong with a kernel, or with what it is given.
    pub fn check(&self) -> Result<(), Error> {
        self.lines.iter().try_for_each(|line| self.file.compile(&self.request(line)).map(|_| ()))
    }

    /// The kernel of each line, compiled for what it is given.
    ///
    /// # Errors
    /// As [`check`](Self::check); if there is no line.
    pub fn compiled(&self) -> Result<Vec<Verified<Module>>, Error> {
        let lines = self.lines()?.iter();
        lines.map(|line| self.file.compile(&self.request(line)).map(|(compiled, _)| compiled.module)).collect()
    }

    /// Runs each line on a device. Gives a paragraph for each: the line, and what its arrays hold afterwards.
    ///
    /// # Errors
    /// As [`compiled`](Self::compiled); if the device refuses a kernel, or one gives something else than its line states.
    pub fn run(&self, device: &Device) -> Result<String, Error> {
        let texts = self.lines()?.iter().map(|line| self.run_line(device, line));
        texts.collect::<Result<Vec<String>, Error>>().map(|texts| texts.join("\n\n"))
    }

    fn lines(&self) -> Result<&[LaunchLine], Error> {
        if !self.lines.is_empty() {
            return Ok(&self.lines);
        }
        let hint = "write what it is given, for example `# run: double[1](x_ptr=f32[1, 2] -> f32[2, 4], BLOCK=2)`";
        let error = Diagnostic::new(Code::BadArguments, Span::NONE, "no line says with what a kernel is run");
        Err(Error::new(self.sources.clone(), vec![error.hint(hint)]))
    }

    fn request(&self, line: &LaunchLine) -> Request {
        let kernel = self.kernels.iter().find(|kernel| kernel.name == line.kernel);
        let is_constant = |name: &str| {
            let parameters = kernel.map_or(&[][..], |kernel| &kernel.parameters);
            parameters.iter().any(|parameter| parameter.name == name && parameter.constexpr)
        };
        let argument = |(name, value): &(String, Value)| (name.clone(), value.argument(is_constant(name)));
        let arguments = line.arguments.iter().map(argument).collect();
        Request { kernel: line.kernel.clone(), arguments, ..Request::default() }
    }

    fn run_line(&self, device: &Device, line: &LaunchLine) -> Result<String, Error> {
        let loaded = self.file.load(device, &self.request(line))?;
        let wrong = |error| Error::new(self.sources.clone(), vec![error]);
        let (mut placed, mut arguments) = (vec![], vec![]);
        for (name, value) in &line.arguments {
            match value {
                Value::Array(MemoryArgument { initial, expected }) => {
                    let array = Placed::new(device, name.clone(), initial, expected.as_ref()).map_err(wrong)?;
                    arguments.push((name.as_str(), runtime::Argument::from(&array.buffer)));
                    placed.push(array);
                }
                Value::Number(Argument::Scalar(scalar, bits)) => {
                    let constant = runtime::Constant { ty: (*scalar).into(), bits: *bits };
                    arguments.push((name.as_str(), runtime::Argument::Scalar(constant)));
                }
                // It is in the kernel's code.
                Value::Number(_) | Value::Constant(_) => {}
            }
        }
        let command = loaded.command(line.grid, &arguments)?;
        let text = self.sources.snippet(line.span).to_owned();
        arrays::run(device, command, &placed, (text, line.span)).map_err(wrong)
    }
}

impl Value {
    /// What a kernel is compiled for.
    fn argument(&self, is_constant: bool) -> Argument {
        match self {
            Value::Array(array) => Argument::Buffer(array.initial.scalar),
            Value::Number(Argument::Scalar(scalar, bits)) if is_constant => Argument::Constant(match scalar {
                Scalar::F32 => Constant::Float(f32::from_bits(*bits as u32).into()),
                Scalar::Bool => Constant::Bool(*bits != 0),
                Scalar::I32 => Constant::Int((*bits as u32 as i32).into()),
                _ => Constant::Int((*bits as i64).into()),
            }),
            Value::Number(argument) => argument.clone(),
            Value::Constant(constant) => Argument::Constant(constant.clone()),
        }
    }
}

/// The run lines of a text.
fn lines(source: SourceId, text: &str, kernels: &[Kernel]) -> Result<Vec<LaunchLine>, Vec<Diagnostic>> {
    let (mut lines, mut errors, mut at) = (vec![], vec![], 0);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if let Some(written) = line.strip_prefix(MARK) {
            let begin = start + MARK.len() + (written.len() - written.trim_start().len());
            let reader = Reader { source, text, kernels, line: start..start + line.trim_end().len() };
            match reader.line(begin) {
                Ok(line) => lines.push(line),
                Err(mut wrong) => errors.append(&mut wrong),
            }
        }
    }
    if errors.is_empty() { Ok(lines) } else { Err(errors) }
}

/// Reads one run line; places are bytes of the whole text.
struct Reader<'t> {
    source: SourceId,
    text: &'t str,
    kernels: &'t [Kernel],
    line: Range<usize>,
}

impl Reader<'_> {
    fn line(&self, begin: usize) -> Result<LaunchLine, Vec<Diagnostic>> {
        let span = Span::new(self.source, self.line.start, self.line.end);
        let written = &self.text[begin..self.line.end];
        let shape = || {
            let error = self.wrong(self.line.clone(), "this is no run line of a kernel".to_owned());
            vec![error.hint("write the kernel, the grid, and each argument by its name: `# run: double[1](x_ptr=f32[1, 2], BLOCK=2)`")]
        };
        let (open, close) =
            written.find('[').zip(written.find(']')).filter(|(open, close)| open < close).ok_or_else(shape)?;
        let inside = written[close + 1..].trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        if inside.is_none() {
            return Err(shape());
        }
        let kernel = self.kernel(begin..begin + open)?;
        let grid = self.grid(begin + open + 1..begin + close)?;
        let first = begin + close + 1 + written[close + 1..].find('(').map_or(0, |at| at + 1);
        let (mut arguments, mut errors) = (vec![], vec![]);
        for part in self.parts(first..self.line.end - 1) {
            match self.argument(part) {
                Ok(argument) => arguments.push(argument),
                Err(mut wrong) => errors.append(&mut wrong),
            }
        }
        if errors.is_empty() { Ok(LaunchLine { span, kernel, grid, arguments }) } else { Err(errors) }
    }

    fn wrong(&self, place: Range<usize>, message: String) -> Diagnostic {
        Diagnostic::new(Code::IrRun, Span::new(self.source, place.start, place.end), message)
    }

    /// A place without the blanks around it.
    fn trimmed(&self, place: Range<usize>) -> Range<usize> {
        let written = &self.text[place.clone()];
        let start = place.start + (written.len() - written.trim_start().len());
        start..start + written.trim().len()
    }

    fn kernel(&self, place: Range<usize>) -> Result<String, Vec<Diagnostic>> {
        let place = self.trimmed(place);
        let name = &self.text[place.clone()];
        let mut names = self.kernels.iter().map(|kernel| kernel.name.as_str());
        if names.clone().any(|known| known == name) {
            return Ok(name.to_owned());
        }
        let error = self.wrong(place, format!("the file has no kernel `{name}`"));
        Err(vec![match did_you_mean(name, names.clone()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => match names.next() {
                Some(first) => error.hint(format!("`{first}` is one")),
                None => error.hint("a kernel is a function with `@triton.jit`"),
            },
        }])
    }

    fn grid(&self, place: Range<usize>) -> Result<[u32; 3], Vec<Diagnostic>> {
        let mut grid = [1; 3];
        let parts: Vec<&str> = self.text[place.clone()].split(',').collect();
        if parts.len() > grid.len() {
            return Err(vec![self.wrong(place, "a grid has at most three dimensions".to_owned())]);
        }
        for (slot, part) in grid.iter_mut().zip(parts) {
            let number = part.trim().parse();
            *slot =
                number.map_err(|_| vec![self.wrong(place.clone(), format!("`{part}` is not a number of programs"))])?;
        }
        Ok(grid)
    }

    /// What stands between commas that are in no brackets and in no text.
    fn parts(&self, place: Range<usize>) -> Vec<Range<usize>> {
        let (mut parts, mut start, mut depth, mut quote) = (vec![], place.start, 0_i32, None);
        for (at, char) in self.text[place.clone()].char_indices() {
            match (quote, char) {
                (Some(open), _) => quote = (char != open).then_some(open),
                (None, '"' | '\'') => quote = Some(char),
                (None, '(' | '[') => depth += 1,
                (None, ')' | ']') => depth -= 1,
                (None, ',') if depth == 0 => {
                    parts.push(start..place.start + at);
                    start = place.start + at + 1;
                }
                (None, _) => {}
            }
        }
        parts.push(start..place.end);
        // A comma at the end is Python's custom.
        parts.into_iter().map(|part| self.trimmed(part)).filter(|part| !part.is_empty()).collect()
    }

    fn argument(&self, place: Range<usize>) -> Result<(String, Value), Vec<Diagnostic>> {
        let Some((name, _)) = self.text[place.clone()].split_once('=') else {
            let error = self.wrong(place, "an argument is written `name=value`".to_owned());
            return Err(vec![error]);
        };
        let value = self.trimmed(place.start + name.len() + 1..place.end);
        Ok((name.trim().to_owned(), self.value(value)?))
    }

    fn value(&self, place: Range<usize>) -> Result<Value, Vec<Diagnostic>> {
        let written = &self.text[place.clone()];
        let quoted = |quote: char| written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(text) = quoted('"').or_else(|| quoted('\'')) {
            return Ok(Value::Constant(Constant::Text(text.to_owned())));
        }
        match written {
            "None" => return Ok(Value::Constant(Constant::None)),
            "True" | "False" => return Ok(Value::Number(Argument::Scalar(Scalar::Bool, u64::from(written == "True")))),
            _number_or_array => {}
        }
        if let Ok(number) = written.parse::<i32>() {
            return Ok(Value::Number(Argument::Scalar(Scalar::I32, (number as u32).into())));
        }
        if let Ok(number) = written.parse::<i64>() {
            return Ok(Value::Number(Argument::Scalar(Scalar::I64, number as u64)));
        }
        if let Ok(number) = written.parse::<f32>() {
            return Ok(Value::Number(Argument::Scalar(Scalar::F32, number.to_bits().into())));
        }
        memory_argument(self.source, self.text, (place.start, place.end)).map(Value::Array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::files::Language;
    use girih::devices::{self, Selector};

    const DOUBLE: &str = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef double(x_ptr, by, BLOCK: tl.constexpr):\n    at = tl.arange(0, BLOCK)\n    tl.store(x_ptr + at, tl.load(x_ptr + at) * by)\n\n";

    fn ran(line: &str) -> Result<String, Error> {
        let file = File::new(Language::Python, format!("{DOUBLE}{line}\n"));
        let device = devices::open(&Selector::Interpreter(32), None).expect("it is always there");
        Launches::read(&file).and_then(|launches| launches.run(&device))
    }

    #[test]
    fn a_kernel_is_given_what_its_line_says() {
        let line = "# run: double[1](x_ptr=f32[1, 2, 3, 4] -> f32[2, 4, 6, 8], by=2.0, BLOCK=4)";
        assert_eq!(ran(line).expect("it is right"), format!("{line}\nx_ptr = f32[2, 4, 6, 8]"));
        assert!(ran("# run: double[1](x_ptr=i32.iota(4) -> i32[0, -3, -6, -9], by=-3, BLOCK=4,)").is_ok());
        let wrong = ran(&line.replace("8]", "9]")).expect_err("it gives 8");
        assert!(wrong.message().starts_with("element 3 of `x_ptr`"), "{wrong}");
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said_at_its_place() {
        for (line, code, at) in [
            ("# run: duble[1](x_ptr=f32[1], by=1, BLOCK=1)", "B0709", "duble"),
            ("# run: double(x_ptr=f32[1])", "B0709", "# run: double(x_ptr=f32[1])"),
            ("# run: double[1](x_ptr=f33[1, 2], by=1, BLOCK=2)", "B0704", "f33"),
            ("# run: double[1](f32[1], by=1, BLOCK=1)", "B0709", "f32[1]"),
            ("# run: double[one](x_ptr=f32[1], by=1, BLOCK=1)", "B0709", "one"),
        ] {
            let text = format!("# λ\n{DOUBLE}{line}\n");
            let checked = check::check(&File::new(Language::Python, &*text));
            let finding = &checked.findings.findings[0];
            let place = finding.labels[0].place.expect("it is in the file");
            let units: Vec<u16> = text.encode_utf16().collect();
            assert_eq!((finding.code, &*String::from_utf16_lossy(&units[place.from..place.to])), (code, at), "{line}");
        }
    }
}
