//! PTX text as instructions: what the generator writes, one instruction a line.

use crate::ptx::Ptx;
use girih_base::span::Span;
use std::collections::HashMap;

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// A register, by its number among all of the function's.
    Reg(usize),
    /// Bits.
    Bits(u64),
    /// A special register: `tid.x`, `laneid`.
    Special(String),
    /// What stands at `base + bytes`.
    Address(Base, i64),
    /// Registers in braces.
    List(Vec<Operand>),
    /// A register and a predicate that is written besides.
    Pair(usize, usize),
    /// A label, a table of labels or a function.
    Name(String),
}

/// What an address is counted from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Base {
    Reg(usize),
    Fixed(u64),
    Param(String),
}

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    /// A predicate and the value that it must have.
    pub guard: Option<(usize, bool)>,
    /// The name, split at its points.
    pub name: Vec<String>,
    pub operands: Vec<Operand>,
    /// The line in the text, from 0.
    pub line: usize,
}

/// A kernel or function.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub name: String,
    pub instructions: Vec<Instruction>,
    pub labels: HashMap<String, usize>,
    pub tables: HashMap<String, Vec<String>>,
    /// Parameters of a kernel: name and bytes.
    pub params: Vec<(String, usize)>,
    /// Bytes of parameter space that the results of a function take.
    pub results: usize,
    pub registers: usize,
    pub shared_bytes: u64,
    pub local_bytes: u64,
    bases: HashMap<String, usize>,
    symbols: HashMap<String, u64>,
}

/// A module.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub codes: Vec<Code>,
    pub lines: Vec<Span>,
    pub text: Vec<String>,
}

impl Program {
    /// The code of a name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.codes.iter().position(|code| code.name == name)
    }
}

/// Where shared memory that is asked for at launch begins, for a kernel with so many bytes of its own.
pub(super) fn asked_start(own: u64) -> u64 {
    own.next_multiple_of(1024)
}

/// Reads a text of the generator's.
pub(super) fn parse(ptx: &Ptx) -> Result<Program, String> {
    let text: Vec<String> = ptx.text.lines().map(str::to_owned).collect();
    let mut program = Program { lines: ptx.lines.clone(), ..Program::default() };
    let mut current: Option<Code> = None;
    for (number, line) in text.iter().enumerate() {
        let said = |error: String| format!("line {}: {error}: `{line}`", number + 1);
        match &mut current {
            None => current = begin(line),
            Some(code) if line == "}" => {
                code.finish();
                program.codes.extend(current.take());
            }
            Some(code) => code.line(line.trim(), number).map_err(said)?,
        }
    }
    program.text = text;
    Ok(program)
}

/// The first line of a kernel or function.
fn begin(line: &str) -> Option<Code> {
    if let Some(rest) = line.strip_prefix(".visible .entry ") {
        return Some(Code { name: rest.trim_end_matches('(').to_owned(), ..Code::default() });
    }
    let rest = line.strip_prefix(".func ")?;
    let (results, rest) = match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(") ")?,
        None => ("", rest),
    };
    let bytes = |list: &str| list.split_once('[').and_then(|(_, n)| n.trim_end_matches(']').parse().ok()).unwrap_or(0);
    let name = rest.split('(').next()?.to_owned();
    Some(Code { name, results: bytes(results), ..Code::default() })
}

impl Code {
    fn line(&mut self, line: &str, number: usize) -> Result<(), String> {
        match line {
            "" | "{" | "}" | ")" => Ok(()),
            _ if line.starts_with(".param ") => self.param(line),
            _ if line.starts_with(".reg ") => self.register(line),
            _ if line.starts_with(".shared ") || line.starts_with(".local ") => self.array(line),
            _ if line.starts_with('.') => Ok(()),
            _ if line.starts_with("$L") => self.label(line),
            _ => self.instruction(line, number),
        }
    }

    /// `.param .u64 .ptr .global .align 4 name`: a kernel's; or an array for a call, which the call makes by itself.
    fn param(&mut self, line: &str) -> Result<(), String> {
        if !line.contains('[') {
            let name = line.trim_end_matches(',').rsplit(' ').next().unwrap_or_default();
            let bytes = if line.contains("64") { 8 } else { 4 };
            self.params.push((name.to_owned(), bytes));
        }
        Ok(())
    }

    /// `.reg .b32 %r<12>;`
    fn register(&mut self, line: &str) -> Result<(), String> {
        let (name, count) = line.rsplit(' ').next().and_then(|d| d.split_once('<')).ok_or("no registers")?;
        let count: usize = count.trim_end_matches(">;").parse().map_err(|_| "no number")?;
        self.bases.insert(name.to_owned(), self.registers);
        self.registers += count;
        Ok(())
    }

    /// `.shared .align 16 .b8 name[64];`
    fn array(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split(' ').collect();
        let align: u64 = words.get(2).and_then(|w| w.parse().ok()).ok_or("no alignment")?;
        let (name, bytes) = words.last().and_then(|w| w.split_once('[')).ok_or("no array")?;
        let bytes: u64 = bytes.trim_end_matches("];").parse().map_err(|_| "no length")?;
        let end = if words[0] == ".shared" { &mut self.shared_bytes } else { &mut self.local_bytes };
        let start = end.next_multiple_of(align);
        *end = start + bytes;
        self.symbols.insert(name.to_owned(), start);
        Ok(())
    }

    /// `$L1:` or `$L2: .branchtargets $L1, $L1;`
    fn label(&mut self, line: &str) -> Result<(), String> {
        let (label, rest) = line.split_once(':').ok_or("no label")?;
        match rest.trim().strip_prefix(".branchtargets ") {
            Some(list) => {
                let labels = list.trim_end_matches(';').split(", ").map(str::to_owned).collect();
                self.tables.insert(label.to_owned(), labels);
            }
            None => drop(self.labels.insert(label.to_owned(), self.instructions.len())),
        }
        Ok(())
    }

    fn instruction(&mut self, line: &str, number: usize) -> Result<(), String> {
        let line = line.strip_suffix(';').ok_or("no end")?;
        let (guard, line) = match line.strip_prefix('@') {
            None => (None, line),
            Some(guarded) => {
                let (guard, line) = guarded.split_once(' ').ok_or("a guard without an instruction")?;
                let (wanted, guard) = guard.strip_prefix('!').map_or((true, guard), |g| (false, g));
                (Some((self.reg(guard)?, wanted)), line)
            }
        };
        let (name, operands) = line.split_once(' ').unwrap_or((line, ""));
        let name: Vec<String> = name.split('.').map(str::to_owned).collect();
        let operands = parts(operands).into_iter().map(|o| self.operand(o)).collect::<Result<_, _>>()?;
        self.instructions.push(Instruction { guard, name, operands, line: number });
        Ok(())
    }

    fn reg(&self, text: &str) -> Result<usize, String> {
        let digits = text.find(|c: char| c.is_ascii_digit()).ok_or_else(|| format!("`{text}` is no register"))?;
        let base = self.bases.get(&text[..digits]).ok_or_else(|| format!("`{text}` is not declared"))?;
        Ok(base + text[digits..].parse::<usize>().map_err(|_| format!("`{text}` is no register"))?)
    }

    fn operand(&self, text: &str) -> Result<Operand, String> {
        if let Some(list) = text.strip_prefix('{') {
            let list = parts(list.trim_end_matches('}'));
            return Ok(Operand::List(list.into_iter().map(|o| self.operand(o)).collect::<Result<_, _>>()?));
        }
        if let Some(address) = text.strip_prefix('[') {
            return self.address(address.trim_end_matches(']'));
        }
        if let Some((a, b)) = text.split_once('|') {
            return Ok(Operand::Pair(self.reg(a)?, self.reg(b)?));
        }
        if let Some(name) = text.strip_prefix('%') {
            let special = ["tid", "ctaid", "nctaid", "ntid", "laneid"];
            let is_special = special.contains(&name.split('.').next().unwrap_or(name));
            return if is_special { Ok(Operand::Special(name.into())) } else { self.reg(text).map(Operand::Reg) };
        }
        if let Some(start) = self.symbols.get(text) {
            return Ok(Operand::Bits(*start));
        }
        if text == "shared$asked" {
            return Ok(Operand::Bits(asked_start(self.shared_bytes)));
        }
        Ok(number(text).map_or_else(|| Operand::Name(text.trim_matches(['(', ')']).to_owned()), Operand::Bits))
    }

    fn address(&self, text: &str) -> Result<Operand, String> {
        let (base, bytes) = match text.split_once('+') {
            Some((base, bytes)) => (base, bytes.parse::<i64>().map_err(|_| "an address with no number")?),
            None => (text, 0),
        };
        let base = match self.operand(base)? {
            Operand::Reg(reg) => Base::Reg(reg),
            Operand::Bits(start) => Base::Fixed(start),
            Operand::Name(name) => Base::Param(name),
            Operand::Special(_) | Operand::Address(..) | Operand::List(_) | Operand::Pair(..) => {
                return Err("an address of nothing".into());
            }
        };
        Ok(Operand::Address(base, bytes))
    }

    /// All lines have been read.
    fn finish(&mut self) {
        self.labels.insert(String::new(), self.instructions.len());
    }
}

/// Operands, split at commas outside of braces.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, vec![]);
    for (i, c) in text.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    found.retain(|part| !part.is_empty());
    found
}

/// A number's bits: decimal, `0x..`, `0f..`, `0d..`.
fn number(text: &str) -> Option<u64> {
    for (prefix, digits) in [("0x", None), ("0f", Some(8)), ("0d", Some(16))] {
        if let Some(hex) = text.strip_prefix(prefix)
            && digits.is_none_or(|n| hex.len() == n)
        {
            return u64::from_str_radix(hex, 16).ok();
        }
    }
    text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(|n| n as u64))
}
