//! The value of a program that has superpositions, scopeless variables or nets of its own, as text.
//!
//! Functions are applied to wires that lead nowhere, so that their bodies are computed; what then hangs at such a wire is what is done
//! with the variable. So a net is read in both directions: from a value to its parts, and from a result to the operation that it
//! comes out of. Definitions are shown by name.

use super::boxed::{self, Operand};
use super::lower::Meaning;
use super::number::{self, Meaning as NumberMeaning};
use super::values::{Form, Values};
use super::word::{Kind, Word};
use girih_base::diag::Diagnostic;
use girih_base::num::Num;
use girih_term::{CtorId, IO_MAGIC};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// How many functions are computed inside before they are shown by name.
const UNFOLDED: usize = 256;
/// How deep a value is shown.
const DEPTH: usize = 20_000;

/// A part of a node.
type Slot = (Word, usize);

impl Values<'_> {
    /// The text of a value.
    ///
    /// # Errors
    /// If what is computed to show it fails, or meets a limit.
    pub fn show_net(&mut self, root: Word) -> Result<String, Diagnostic> {
        let (root, functions) = Unfolding { values: self, functions: HashSet::new(), left: UNFOLDED }.unfold(root)?;
        let mut reader = Reader::new(self, functions, root);
        reader.value(root, 0);
        Ok(reader.text)
    }
}

/// Functions in a value are given variables.
struct Unfolding<'v, 'l> {
    values: &'v mut Values<'l>,
    /// The nodes that are functions, and no pairs.
    functions: HashSet<Word>,
    left: usize,
}

impl Unfolding<'_, '_> {
    /// Every function that is found changes the net, so the search begins again behind it.
    fn unfold(mut self, root: Word) -> Result<(Word, HashSet<Word>), Diagnostic> {
        // The value hangs at a part of a node, as all of its parts do.
        let top = self.values.machine.node(Kind::Con, [root, Word::ERA])?;
        while let Some((node, part)) = self.waiting(top) {
            // This is the only end of the wire that has not been linked, and it is not needed any more.
            let word = self.values.machine.heap.parts(node)[part];
            let word = self.values.machine.heap.enter(word);
            let word = match self.is_unfolded(word, node == top) {
                true => self.apply(word)?,
                false => self.values.force(word)?,
            };
            let mut parts = self.values.machine.heap.parts(node);
            parts[part] = word;
            self.values.machine.heap.set_parts(node, parts);
        }
        Ok((self.values.machine.heap.parts(top)[0], self.functions))
    }

    /// A part that holds a function to be applied, or a definition that is to be computed.
    fn waiting(&self, top: Word) -> Option<Slot> {
        if self.left == 0 {
            return None;
        }
        let heap = &self.values.machine.heap;
        let mut seen = HashSet::from([top]);
        let mut pending: Vec<Slot> = vec![(top, 0)];
        // What hangs at variables is stuck there; what a closure holds is looked at when it has been applied.
        for node in heap.linked() {
            if node.kind() != Kind::Clo && seen.insert(node) {
                pending.extend(inside(node));
            }
        }
        while let Some((node, part)) = pending.pop() {
            let word = heap.look(heap.parts(node)[part]);
            if self.is_unfolded(word, node == top) || self.values.is_waiting(word) {
                return Some((node, part));
            }
            if word.kind() != Kind::Clo && seen.insert(word) {
                pending.extend(inside(word));
            }
        }
        None
    }

    /// Whether a function is shown, not named: one without a name, or the value itself.
    fn is_unfolded(&self, word: Word, outermost: bool) -> bool {
        match word.kind() {
            Kind::Clo => true,
            Kind::Ref => {
                let meaning = self.values.meaning(word);
                let named = match meaning {
                    Some(Meaning::Lambda { .. }) => false,
                    Some(Meaning::Definition(def, _)) => self.values.program.defs[*def].params.is_empty() || !outermost,
                    Some(Meaning::Tag(_) | Meaning::Constructor(_) | Meaning::Arm) | None => true,
                };
                !named
            }
            _ => false,
        }
    }

    /// A function that applies another one to its argument.
    fn apply(&mut self, function: Word) -> Result<Word, Diagnostic> {
        self.left -= 1;
        let machine = &mut self.values.machine;
        let (argument, result) = (machine.wire()?, machine.wire()?);
        let shown = machine.node(Kind::Con, [argument, result])?;
        let call = machine.node(Kind::Con, [argument, result])?;
        machine.link(function, call);
        self.values.reduce()?;
        self.functions.insert(shown);
        Ok(shown)
    }
}

/// The parts of a node that have wires.
fn inside(node: Word) -> Vec<Slot> {
    match node.kind() {
        Kind::Con | Kind::Dup | Kind::Copy | Kind::Opr | Kind::Swi => vec![(node, 1), (node, 0)],
        Kind::Clo => vec![(node, 1)],
        Kind::Var | Kind::Ref | Kind::Era | Kind::Num | Kind::Box => vec![],
    }
}

/// What writes a net.
struct Reader<'v, 'l> {
    values: &'v Values<'l>,
    functions: HashSet<Word>,
    /// Where the ends of wires are.
    ends: HashMap<Word, Vec<Slot>>,
    /// Which part of which node a node's principal port hangs at; a wire, if it hangs at an end that leads nowhere.
    holders: HashMap<Word, Holder>,
    names: HashMap<Slot, usize>,
    count: usize,
    text: String,
}

#[derive(Clone, Copy)]
enum Holder {
    Part(Slot),
    Nowhere,
}

impl<'v, 'l> Reader<'v, 'l> {
    fn new(values: &'v Values<'l>, functions: HashSet<Word>, root: Word) -> Reader<'v, 'l> {
        let mut reader = Reader {
            values,
            functions,
            ends: HashMap::new(),
            holders: HashMap::new(),
            names: HashMap::new(),
            count: 0,
            text: String::new(),
        };
        let heap = &values.machine.heap;
        let linked = heap.linked();
        let mut pending: Vec<Word> = linked.iter().copied().chain([heap.look(root)]).collect();
        let mut seen = HashSet::new();
        while let Some(node) = pending.pop() {
            if !node.kind().is_node() || !seen.insert(node) {
                continue;
            }
            for slot in inside(node) {
                let raw = heap.parts(node)[slot.1];
                let word = heap.look(raw);
                if word.kind() == Kind::Var {
                    reader.ends.entry(word).or_default().push(slot);
                } else {
                    reader.holders.insert(word, Holder::Part(slot));
                    pending.push(word);
                }
            }
        }
        for word in seen {
            reader.holders.entry(word).or_insert(Holder::Nowhere);
        }
        reader
    }

    fn look(&self, (node, part): Slot) -> Word {
        self.values.machine.heap.look(self.values.machine.heap.parts(node)[part])
    }

    /// The other end of a wire.
    fn other_end(&self, wire: Word, own: Option<Slot>) -> Option<Slot> {
        let ends = self.ends.get(&wire)?;
        ends.iter().copied().find(|end| Some(*end) != own)
    }

    /// What stands at a part.
    fn part(&mut self, slot: Slot, depth: usize) {
        let word = self.look(slot);
        match word.kind() {
            Kind::Var => match self.other_end(word, Some(slot)) {
                Some(end) => self.result(end, depth),
                None => self.text.push('*'),
            },
            _ => self.value(word, depth),
        }
    }

    /// What is at the root or another place without a node.
    fn value(&mut self, word: Word, depth: usize) {
        let word = self.values.machine.heap.look(word);
        if depth > DEPTH {
            return self.text.push('…');
        }
        match word.kind() {
            Kind::Var => match self.other_end(word, None) {
                Some(end) => self.result(end, depth),
                None => self.text.push('*'),
            },
            Kind::Era => self.text.push('*'),
            Kind::Num | Kind::Box => self.number(word),
            Kind::Ref | Kind::Clo => self.name(word),
            Kind::Con => self.constructor(word, depth),
            Kind::Dup | Kind::Copy => self.superposition(word, depth),
            // These are no values; only a net that makes no sense has them here.
            Kind::Opr | Kind::Swi => self.text.push_str("<Invalid>"),
        }
    }

    fn number(&mut self, word: Word) {
        let words = if word.kind() == Kind::Box { self.values.machine.heap.parts(word) } else { [Word::NONE; 2] };
        match (boxed::plain(word, words), number::meaning(word)) {
            (Some(Operand::Number(number)), _) => _ = write!(self.text, "{number}"),
            (Some(Operand::Partial(function, number)), _) => _ = write!(self.text, "({} {number})", function.symbol()),
            (None, NumberMeaning::Operator(operator)) => _ = write!(self.text, "{operator}"),
            (None, NumberMeaning::Number(_) | NumberMeaning::Nonsense) => self.text.push_str("<Invalid>"),
        }
    }

    /// A definition, and what it has been given.
    fn name(&mut self, word: Word) {
        let Form::Function(id, _) = self.values.form(word) else { return self.text.push_str("<Invalid>") };
        let name = match self.values.lowered.meanings.get(&id) {
            Some(Meaning::Definition(def, _)) => &self.values.program.defs[*def].name,
            _ => &self.values.lowered.book.definitions[id].name,
        };
        self.text.push_str(name);
    }

    fn constructor(&mut self, node: Word, depth: usize) {
        if let Form::Ctor(ctor, fields) = self.values.form(node) {
            return self.data(ctor, fields, depth);
        }
        if self.is_function(node) {
            let slot = (node, 0);
            match self.look(slot).kind() {
                Kind::Era => self.text.push_str("λ*"),
                // A variable that nobody uses.
                Kind::Var if self.other_end(self.look(slot), Some(slot)).is_none() => self.text.push_str("λ*"),
                _ => {
                    let name = self.named(slot);
                    self.text.push('λ');
                    self.text.push_str(&name);
                }
            }
            self.text.push(' ');
            return self.part((node, 1), depth + 1);
        }
        self.text.push('(');
        self.part((node, 0), depth + 1);
        self.text.push_str(", ");
        self.part((node, 1), depth + 1);
        self.text.push(')');
    }

    /// Whether a node is a function and no pair: its first part is a variable, used or not.
    fn is_function(&self, node: Word) -> bool {
        if self.functions.contains(&node) {
            return true;
        }
        let slot = (node, 0);
        let first = self.look(slot);
        match first.kind() {
            Kind::Era | Kind::Opr | Kind::Swi => true,
            Kind::Num | Kind::Box | Kind::Ref | Kind::Clo => false,
            Kind::Var => match self.other_end(first, Some(slot)) {
                Some(end) => end.1 != 0 || end.0.kind() != Kind::Con || !self.names.contains_key(&end),
                None => true,
            },
            Kind::Con => {
                !self.is_function(first) && !matches!(self.values.form(first), Form::Ctor(..)) && !self.is_pair(first)
            }
            Kind::Dup | Kind::Copy => inside(first).into_iter().all(|slot| self.look(slot).kind() == Kind::Var),
        }
    }

    /// Whether a node that is no function is a pair, and no call.
    fn is_pair(&self, node: Word) -> bool {
        let second = self.look((node, 1));
        matches!(second.kind(), Kind::Num | Kind::Box | Kind::Ref)
    }

    fn named(&mut self, slot: Slot) -> String {
        let number = *self.names.entry(slot).or_insert_with(|| {
            self.count += 1;
            self.count - 1
        });
        letters(number)
    }

    fn data(&mut self, ctor: CtorId, fields: Vec<Word>, depth: usize) {
        let known = &self.values.program.known;
        let (list, string) = ([known.list_cons, known.list_nil], [known.string_cons, known.string_nil]);
        if list.contains(&Some(ctor))
            && let Some(items) = self.chain(list, ctor, &fields)
        {
            self.text.push('[');
            for (i, item) in items.into_iter().enumerate() {
                self.text.push_str(if i > 0 { ", " } else { "" });
                self.value_at(item, depth + 1);
            }
            return self.text.push(']');
        }
        if string.contains(&Some(ctor))
            && let Some(items) = self.chain(string, ctor, &fields)
        {
            let character = |item: &Word| match self.values.form(*item) {
                Form::Number(number) => char::from_u32(number.bits()),
                _ => None,
            };
            if let Some(text) = items.iter().map(character).collect::<Option<String>>() {
                let _ = write!(self.text, "{text:?}");
                return;
            }
        }
        self.text.push_str(&self.values.program.ctors[ctor].name);
        if fields.is_empty() {
            return;
        }
        let is_io = [known.io_done, known.io_call].contains(&Some(ctor));
        for (i, field) in fields.into_iter().enumerate() {
            self.text.push_str(if i > 0 { ", " } else { "(" });
            if i == 0 && is_io && self.is_magic(field) {
                self.text.push_str("IO/MAGIC");
            } else {
                self.value_at(field, depth + 1);
            }
        }
        self.text.push(')');
    }

    /// Whether a field is the pair of numbers by which effects are recognised.
    fn is_magic(&self, field: Word) -> bool {
        let number = |word: Word, wanted: u32| self.values.form(word) == Form::Number(Num::U24(wanted));
        match self.values.form(field) {
            Form::Pair(first, second) => number(first, IO_MAGIC.0) && number(second, IO_MAGIC.1),
            _ => false,
        }
    }

    /// A value that hangs at a part of data; a wire leads from there, not to there.
    fn value_at(&mut self, word: Word, depth: usize) {
        let word = self.values.machine.heap.look(word);
        if word.kind() != Kind::Var {
            return self.value(word, depth);
        }
        let ends = self.ends.get(&word).cloned().unwrap_or_default();
        // The end in the data is that of a node without another use of the wire.
        match ends.iter().find(|end| self.is_result(**end)) {
            Some(end) => self.result(*end, depth),
            None => self.text.push('*'),
        }
    }

    /// Whether something comes out of a part: a variable, or what an operation gives.
    fn is_result(&self, (node, part): Slot) -> bool {
        match node.kind() {
            Kind::Con => part == 1 && !self.is_function(node) || self.names.contains_key(&(node, part)),
            Kind::Opr | Kind::Swi => part == 1,
            Kind::Dup | Kind::Copy => true,
            Kind::Var | Kind::Ref | Kind::Era | Kind::Num | Kind::Clo | Kind::Box => false,
        }
    }

    /// The items of a list or a text that ends.
    fn chain(&self, [cons, nil]: [Option<CtorId>; 2], ctor: CtorId, fields: &[Word]) -> Option<Vec<Word>> {
        let (mut ctor, mut fields, mut items) = (ctor, fields.to_vec(), vec![]);
        while Some(ctor) == cons {
            let [head, tail] = fields[..] else { return None };
            items.push(head);
            (ctor, fields) = match self.values.form(tail) {
                Form::Ctor(ctor, fields) => (ctor, fields),
                _ => return None,
            };
        }
        (Some(ctor) == nil).then_some(items)
    }

    /// Two values at once; the two copies of one value are that value.
    fn superposition(&mut self, node: Word, depth: usize) {
        let ends: Vec<Option<Slot>> = [0, 1]
            .into_iter()
            .map(|part| {
                let word = self.look((node, part));
                if word.kind() == Kind::Var { self.other_end(word, Some((node, part))) } else { None }
            })
            .collect();
        if let [Some((first, 0)), Some((second, 1))] = ends[..]
            && first == second
            && first.kind() == node.kind()
        {
            return self.principal(first, depth + 1);
        }
        self.text.push('{');
        self.part((node, 0), depth + 1);
        self.text.push(' ');
        self.part((node, 1), depth + 1);
        self.text.push('}');
    }

    /// What a node is linked with at its principal port.
    fn principal(&mut self, node: Word, depth: usize) {
        match self.holders.get(&node).copied() {
            Some(Holder::Part(slot)) => self.result(slot, depth),
            Some(Holder::Nowhere) | None => self.text.push('*'),
        }
    }

    /// What comes out of a part of a node.
    fn result(&mut self, slot: Slot, depth: usize) {
        let (node, part) = slot;
        if depth > DEPTH {
            return self.text.push('…');
        }
        match (node.kind(), part) {
            (Kind::Con, 1) if !self.functions.contains(&node) && !self.names.contains_key(&(node, 0)) => {
                let mut calls = vec![node];
                while let Some(Holder::Part((before, 1))) = self.holders.get(calls.last().unwrap_or(&node)).copied()
                    && before.kind() == Kind::Con
                    && !self.functions.contains(&before)
                {
                    calls.push(before);
                }
                self.text.push('(');
                self.principal(*calls.last().unwrap_or(&node), depth + 1);
                for call in calls.into_iter().rev() {
                    self.text.push(' ');
                    self.part((call, 0), depth + 1);
                }
                self.text.push(')');
            }
            (Kind::Con, _) => {
                let name = self.named(slot);
                self.text.push_str(&name);
            }
            // Copies are the value that is copied.
            (Kind::Dup | Kind::Copy, _) => self.principal(node, depth + 1),
            (Kind::Opr, 1) => self.operation(node, depth),
            (Kind::Swi, 1) => {
                self.text.push_str("switch ");
                self.principal(node, depth + 1);
                self.text.push_str(" { ");
                self.part((node, 0), depth + 1);
                self.text.push_str(" }");
            }
            _ => self.text.push_str("<Invalid>"),
        }
    }

    fn operation(&mut self, node: Word, depth: usize) {
        let first = self.look((node, 0));
        self.text.push('(');
        match self.holders.get(&node).copied() {
            // The operand of the operation whose symbol stands in the node before.
            Some(Holder::Part((before, 1))) if before.kind() == Kind::Opr => {
                self.symbol(self.look((before, 0)));
                self.text.push(' ');
                self.principal(before, depth + 1);
                self.text.push(' ');
                self.part((node, 0), depth + 1);
            }
            _ => {
                self.symbol(first);
                self.text.push(' ');
                if let Some(number) = self.first_operand(first) {
                    self.text.push_str(&number);
                    self.text.push(' ');
                }
                self.principal(node, depth + 1);
            }
        }
        self.text.push(')');
    }

    fn symbol(&mut self, word: Word) {
        let words = if word.kind() == Kind::Box { self.values.machine.heap.parts(word) } else { [Word::NONE; 2] };
        match (boxed::plain(word, words), number::function(word)) {
            (Some(Operand::Partial(function, _)), _) | (None, Some(function)) => self.text.push_str(function.symbol()),
            _ => match number::meaning(word) {
                NumberMeaning::Operator(operator) => _ = write!(self.text, "{operator}"),
                NumberMeaning::Number(_) | NumberMeaning::Nonsense => self.text.push('?'),
            },
        }
    }

    fn first_operand(&self, word: Word) -> Option<String> {
        let words = if word.kind() == Kind::Box { self.values.machine.heap.parts(word) } else { [Word::NONE; 2] };
        match boxed::plain(word, words) {
            Some(Operand::Partial(_, number)) => Some(number.to_string()),
            Some(Operand::Number(_)) | None => None,
        }
    }
}

/// `a`, …, `z`, `aa`, …
fn letters(mut number: usize) -> String {
    let mut letters = vec![];
    loop {
        letters.push(char::from(b'a' + (number % 26) as u8));
        match number / 26 {
            0 => break,
            next => number = next - 1,
        }
    }
    letters.into_iter().rev().collect()
}
