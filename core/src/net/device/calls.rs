//! `@called`: what a call makes, as straight code for each definition, written from what is left of its net when the call knows what the caller has.
//!
//! Where a net depends on that, the code branches, and each way ends with the net that is left there: nodes, wires, redexes and links. How often a way was taken
//! is counted in one word; the host knows which interactions that stands for.

use super::definitions::MOST_REDEXES;
use super::known::{Net, Next, Port, U24};
use crate::net::book::Book;
use crate::net::number;
use crate::net::rules::{Rule, meeting};
use crate::net::word::Kind;
use crate::num::BinOp;
use std::collections::HashMap;
use std::fmt::Write;

/// The most branches of a definition, and of one that no redex of another one names: it is put into others where these choose it.
const BRANCHES: [usize; 2] = [14, 2];
/// The same for books with more than so many ways: drivers take seconds for such code.
const FEW_BRANCHES: [usize; 2] = [1, 0];
const MOST_WAYS: usize = 64;
/// Links that are made at once; others become redexes.
const LINKS: usize = 2;
/// What `@called` gives: how many redexes (12 bits), calls (12 bits) and links there are; how many nodes (16 bits) and wires; the ends of the links.
const RESULTS: usize = 2 + 2 * LINKS;
/// The most nodes or wires that a call makes.
const MOST_MADE: usize = (1 << 16) - 1;

/// How large the calls of a definition are at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Need {
    /// Nodes that are made.
    pub nodes: u32,
    /// Wires that are made.
    pub wires: u32,
    /// Redexes that are left.
    pub redexes: u32,
}

/// The calls of a book.
#[derive(Debug, Default)]
pub struct Calls {
    /// `@called`.
    pub text: String,
    /// What each definition needs.
    pub needs: Vec<Need>,
    /// The interactions of each way, beside the call itself, by their rules.
    pub ways: Vec<[u32; Rule::ALL.len()]>,
}

const HEAD: &str = "fn @called(%nodes: buffer, %wires: buffer, %lists: buffer, %stack: buffer, %book: buffer, %lanes: u32, %np: u32, %wp: u32, %node_count: u32, \
                    %listed: bool, %top: u32, %low: u32, %state: u32, %definition: u32, %y: u32, %y1: u32, %y2: u32) \
                    -> u32, u32, u32, u32, u32, u32 {\n";

/// The calls of a book; `numbers` says whether they look at numbers, which are all in words then. None if a definition is made in a way that no call can make.
pub fn of(book: &Book, numbers: bool) -> Option<Calls> {
    let calls = within(book, numbers, BRANCHES)?;
    if calls.ways.len() <= MOST_WAYS { Some(calls) } else { within(book, numbers, FEW_BRANCHES) }
}

/// The same with so many branches for a definition that is named, and for others.
fn within(book: &Book, numbers: bool, [of_named, of_others]: [usize; 2]) -> Option<Calls> {
    let mut calls = Calls { text: HEAD.to_owned(), ..Calls::default() };
    let names = |prefix: &str| (0..RESULTS).map(|i| format!("%{prefix}{i}: u32")).collect::<Vec<_>>().join(", ");
    let _ = writeln!(calls.text, "  {} = switch.u32 %definition", names("r"));
    let mut named = vec![false; book.definitions.len()];
    for (a, b) in book.definitions.iter().flat_map(|definition| &definition.template.links) {
        for word in [a, b].into_iter().filter(|word| word.kind() == Kind::Ref) {
            named[word.index()] = true;
        }
    }
    let mut names_used = 0;
    for (id, _) in book.definitions.iter_enumerated() {
        let mut branches = if named[id.index()] { of_named } else { of_others };
        // With fewer branches if there is something that has no end.
        let writer = loop {
            let mut writer = Writer { names: names_used, left: branches, first: calls.ways.len(), ..Writer::default() };
            let net = Net::new(book, id, 0, numbers && branches > 0);
            if writer.way(net, 2) {
                break writer;
            }
            if branches == 0 {
                return None;
            }
            branches = 0;
        };
        names_used = writer.names;
        let _ = writeln!(calls.text, "  case {} {{", id.index());
        calls.text.push_str(&writer.text);
        calls.text.push_str("  }\n");
        calls.needs.push(writer.need);
        calls.ways.extend(writer.ways);
    }
    let zeros = ["0"; RESULTS].join(", ");
    let results: Vec<String> = (0..RESULTS).map(|i| format!("%r{i}")).collect();
    let _ = writeln!(calls.text, "  default {{\n    yield {zeros}\n  }}\n  return {}\n}}", results.join(", "));
    Some(calls)
}

/// Writes the code of one definition.
#[derive(Default)]
struct Writer {
    text: String,
    names: u32,
    /// Branches that may still come.
    left: usize,
    need: Need,
    /// Ways of the definitions before this one.
    first: usize,
    ways: Vec<[u32; Rule::ALL.len()]>,
}

/// A word that the kernel knows; 0 is what the caller has.
fn named(name: u32) -> String {
    if name == 0 { "%y".to_owned() } else { format!("%v{name}") }
}

impl Writer {
    fn name(&mut self) -> u32 {
        self.names += 1;
        self.names
    }

    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 2 * depth);
    }

    /// Begins a branch, if there may be one more.
    fn branches(&mut self, net: &mut Net<'_>) -> bool {
        if self.left == 0 {
            net.is_final = true;
            return false;
        }
        self.left -= 1;
        true
    }

    /// The code of a net from here on, which ends with what it gives. False if there is none.
    fn way(&mut self, mut net: Net<'_>, depth: usize) -> bool {
        loop {
            let next = net.next();
            if net.is_circular {
                return false;
            }
            match next {
                Next::Done => return self.end(&net, depth),
                Next::Compute(op, ports, result) => {
                    let name = self.name();
                    let [a, b] = ports.map(word);
                    let value = arithmetic(op, &a, &b);
                    self.line(depth, &format!("{} = {value}", named(name)));
                    net.link(Port::Number(name), result);
                }
                Next::Pair(given, node) => {
                    if !self.branches(&mut net) {
                        net.unknown(Port::Given(given), node);
                        continue;
                    }
                    return self.pair(&net, given, node, depth);
                }
                Next::Number(given, node) => {
                    if !self.branches(&mut net) {
                        net.unknown(Port::Given(given), node);
                        continue;
                    }
                    return self.number(&net, given, node, depth);
                }
                Next::Choice(number, node) => {
                    if !self.branches(&mut net) {
                        net.unknown(Port::Number(number), node);
                        continue;
                    }
                    return self.choice(&net, number, node, depth);
                }
            }
        }
    }

    /// Opens a branch, which gives what its ways give.
    fn open(&mut self, condition: &str, depth: usize) -> u32 {
        let own = self.name();
        let results: Vec<String> = (0..RESULTS).map(|i| format!("%g{own}_{i}: u32")).collect();
        self.line(depth, &format!("{} = if ({condition}) {{", results.join(", ")));
        own
    }

    fn close(&mut self, own: u32, depth: usize) {
        self.line(depth, "}");
        let results: Vec<String> = (0..RESULTS).map(|i| format!("%g{own}_{i}")).collect();
        self.line(depth, &format!("yield {}", results.join(", ")));
    }

    /// The caller's word and what stands behind it, if that is a wire that somebody has been at.
    fn behind(&mut self, given: u32, depth: usize) -> (String, String) {
        let (word, beyond) = (named(given), named(self.name()));
        self.line(depth, &format!("{beyond} = call @called.behind(%wires, {word})"));
        (word, beyond)
    }

    fn pair(&mut self, net: &Net<'_>, given: u32, node: usize, depth: usize) -> bool {
        let parts = [self.name(), self.name()];
        let [first, second] = parts.map(named);
        let (own, left) = if given == 0 {
            // What the caller has itself has been looked at already.
            self.line(depth, &format!("{first} = or.u32 %y1, 0"));
            self.line(depth, &format!("{second} = or.u32 %y2, 0"));
            (self.open("eq.u32 (and.u32 %y, 15), 4", depth), "%y".to_owned())
        } else {
            let (word, beyond) = self.behind(given, depth);
            self.line(depth, &format!("{first}, {second} = call @called.pair(%nodes, {beyond})"));
            let own = self.open(&format!("ne.u32 (min.u32 {first}, {second}), 0"), depth);
            self.line(depth + 1, &format!("call @called.leave(%wires, {word}, {beyond})"));
            (own, beyond)
        };
        self.line(depth + 1, &format!("call @called.free(%nodes, {left})"));
        let mut taken = net.clone();
        taken.paired(node, parts);
        self.or_unknown(own, taken, (net, given, node), depth)
    }

    fn number(&mut self, net: &Net<'_>, given: u32, node: usize, depth: usize) -> bool {
        let (word, beyond) = if given == 0 { (named(0), named(0)) } else { self.behind(given, depth) };
        // A definition that is a number and no more is called where a number is needed, and is copied as it is.
        let calls = net.nodes[node].is_some_and(|(kind, _)| matches!(kind, Kind::Opr | Kind::Swi));
        let name = self.name();
        let value =
            if calls { format!("call @called.constant(%book, {beyond})") } else { format!("or.u32 {beyond}, 0") };
        self.line(depth, &format!("{} = {value}", named(name)));
        let own = self.open(&format!("eq.u32 (and.u32 {}, 255), {U24}", named(name)), depth);
        if given != 0 {
            self.line(depth + 1, &format!("call @called.leave(%wires, {word}, {beyond})"));
        }
        if calls {
            self.line(depth + 1, &format!("call @called.count(%stack, %lanes, %state, {beyond}, {})", named(name)));
        }
        let mut taken = net.clone();
        taken.numbered(node, name);
        self.or_unknown(own, taken, (net, given, node), depth)
    }

    /// The way where the caller has what was asked for, in a branch that was opened, and the one where what it has stays unknown; and closes it.
    fn or_unknown(
        &mut self,
        own: u32,
        taken: Net<'_>,
        (net, given, node): (&Net<'_>, u32, usize),
        depth: usize,
    ) -> bool {
        let is_made = self.way(taken, depth + 1);
        self.line(depth, "} else {");
        let mut other = net.clone();
        other.unknown(Port::Given(given), node);
        let is_made = is_made && self.way(other, depth + 1);
        self.close(own, depth);
        is_made
    }

    fn choice(&mut self, net: &Net<'_>, number: u32, node: usize, depth: usize) -> bool {
        let own = self.open(&format!("lt.u32 {}, 256", named(number)), depth);
        let mut zero = net.clone();
        zero.chosen(node, None);
        let is_made = self.way(zero, depth + 1);
        self.line(depth, "} else {");
        let less = self.name();
        self.line(depth + 1, &format!("{} = sub.u32 {}, 256", named(less), named(number)));
        let mut positive = net.clone();
        positive.chosen(node, Some(Port::Number(less)));
        let is_made = is_made && self.way(positive, depth + 1);
        self.close(own, depth);
        is_made
    }

    /// What is left of a net.
    fn end(&mut self, net: &Net<'_>, depth: usize) -> bool {
        let own = self.name();
        let mut left = Left { net, own, wires: HashMap::new(), behind: vec![] };
        let mut nodes = vec![];
        for (i, node) in net.nodes.iter().enumerate() {
            let Some((kind, parts)) = node else { continue };
            let mut words = vec![];
            for (at, part) in parts.iter().enumerate() {
                let is_operand = *kind == Kind::Opr && at == 0;
                let Some(word) = (if *kind == Kind::Box { Some(word(*part)) } else { left.part(*part, is_operand) })
                else {
                    return false;
                };
                words.push(word);
            }
            nodes.push((i, words));
        }
        let (mut links, mut redexes, mut calls) = (vec![], vec![], vec![]);
        for (a, b) in &net.rest {
            let (Some(a), Some(b)) = (net.end(*a), net.end(*b)) else { return false };
            let kinds = [a, b].map(|port| left.kind(port));
            let words = [left.word(a), left.word(b)];
            match kinds {
                [Some(a), Some(b)] if meeting(a, b).0.rule == Rule::Call => calls.push(words),
                [Some(a), Some(b)] if a != Kind::Var && b != Kind::Var => redexes.push(words),
                [_, _] if links.len() < LINKS => links.push(words),
                [_, _] => redexes.push(words),
            }
        }
        let Left { wires, behind, .. } = left;
        let (made, wired) = (nodes.len(), wires.len() + behind.len());
        for (place, (i, _)) in nodes.iter().enumerate() {
            self.line(depth, &format!("%n{own}_{i} = call @called.place(%lists, 0, (add.u32 %np, {place}), %listed)"));
        }
        for place in 0..wired {
            self.line(
                depth,
                &format!("%w{own}_{place} = call @called.place(%lists, %node_count, (add.u32 %wp, {place}), %listed)"),
            );
        }
        for (place, word) in &behind {
            self.line(depth, &format!("atomic.store.u32 %wires[%w{own}_{place}], {word}"));
        }
        for (i, words) in &nodes {
            self.line(depth, &format!("%p{own}_{i} = mul.u32 %n{own}_{i}, 2"));
            for (part, word) in words.iter().enumerate() {
                self.line(depth, &format!("atomic.store.u32 %nodes[%p{own}_{i} + {part}], {word}"));
            }
        }
        for (to, way, all) in [("top", "add", &redexes), ("low", "sub", &calls)] {
            for (i, [a, b]) in all.iter().enumerate() {
                let level = format!("({way}.u32 %{to}, (mul.u32 %lanes, {i}))");
                self.line(depth, &format!("store.u32x2 %stack[{level}], (vector.u32x2 {a}, {b})"));
            }
        }
        // Behind a lane's places and its counts of rules.
        let at = 4 + Rule::ALL.len() + self.first + self.ways.len();
        let counter = format!("%c{own}");
        self.line(depth, &format!("{counter} = add.u32 %state, (mul.u32 %lanes, {at})"));
        self.line(depth, &format!("store.u32 %stack[{counter}], (add.u32 (load.u32 %stack[{counter}]), 1)"));
        if made.max(wired) > MOST_MADE || redexes.len().max(calls.len()) > MOST_REDEXES as usize {
            return false;
        }
        let mut results = vec![(redexes.len() | calls.len() << 12 | links.len() << 24).to_string()];
        results.push((made | wired << 16).to_string());
        results.extend(links.into_iter().flatten());
        results.resize(RESULTS, "0".to_owned());
        self.line(depth, &format!("yield {}", results.join(", ")));
        self.ways.push(net.counts);
        let Need { nodes, wires, redexes: most } = self.need;
        let all = (redexes.len() + calls.len()) as u32;
        self.need = Need { nodes: nodes.max(made as u32), wires: wires.max(wired as u32), redexes: most.max(all) };
        true
    }
}

/// The words of what is left of a net.
struct Left<'n, 'b> {
    net: &'n Net<'b>,
    own: u32,
    /// Wires that come into being: their places.
    wires: HashMap<usize, usize>,
    /// Wires that hold a word from the beginning: their places too.
    behind: Vec<(usize, String)>,
}

impl Left<'_, '_> {
    /// The word of a part of a node. An operand that stands behind a wire stays there: whether it is there must not depend on who comes first.
    fn part(&mut self, part: Port, is_operand: bool) -> Option<String> {
        let end = self.net.end(part)?;
        let may_be_number = match end {
            Port::Word(word) => word.kind() == Kind::Num,
            Port::Number(_) | Port::Partial(..) | Port::Given(_) => true,
            Port::Wire(_) | Port::Node(_) => false,
        };
        let word = self.word(end);
        if !(is_operand && may_be_number && part != end) {
            return Some(word);
        }
        let place = self.wires.len() + self.behind.len();
        self.behind.push((place, word));
        Some(format!("(shl.u32 %w{}_{place}, 4)", self.own))
    }

    fn word(&mut self, port: Port) -> String {
        match port {
            Port::Wire(wire) => {
                let next = self.wires.len() + self.behind.len();
                let place = *self.wires.entry(wire).or_insert(next);
                format!("(shl.u32 %w{}_{place}, 4)", self.own)
            }
            Port::Node(node) => {
                let kind = self.kind(port).map_or(0, |kind| kind as u32);
                format!("(or.u32 (shl.u32 %n{}_{node}, 4), {kind})", self.own)
            }
            Port::Word(_) | Port::Number(_) | Port::Partial(..) | Port::Given(_) => word(port),
        }
    }

    /// The kind of a port; none if it is known to the kernel alone.
    fn kind(&self, port: Port) -> Option<Kind> {
        match port {
            Port::Word(word) => Some(word.kind()),
            Port::Number(_) | Port::Partial(..) => Some(Kind::Num),
            Port::Given(_) => None,
            Port::Wire(_) => Some(Kind::Var),
            Port::Node(node) => self.net.nodes[node].map(|(kind, _)| kind),
        }
    }
}

/// The word of what is neither a wire nor a node.
fn word(port: Port) -> String {
    match port {
        Port::Word(word) => word.0.to_string(),
        Port::Number(name) | Port::Given(name) => named(name),
        Port::Partial(code, name) => {
            format!("(or.u32 (and.u32 {}, 0xffffff00), {})", named(name), code << 3 | Kind::Num as u32)
        }
        // Those have words where they are put.
        Port::Wire(_) | Port::Node(_) => "0".to_owned(),
    }
}

/// An operator on the words of two u24.
fn arithmetic(op: BinOp, a: &str, b: &str) -> String {
    let value = |word: &str| format!("(shr.u32 {word}, 8)");
    let upper = |word: &str| format!("(and.u32 {word}, 0xffffff00)");
    let packed = |value: String| format!("or.u32 (shl.u32 ({value}), 8), {U24}");
    let truth = |test: &str| packed(format!("convert.u32 ({test}.u32 {a}, {b})"));
    match op {
        BinOp::Add => format!("add.u32 {a}, {}", upper(b)),
        BinOp::Sub => format!("sub.u32 {a}, {}", upper(b)),
        BinOp::Mul => format!("or.u32 (mul.u32 {}, {}), {U24}", value(a), upper(b)),
        BinOp::And => format!("and.u32 {a}, {b}"),
        BinOp::Or => format!("or.u32 {a}, {b}"),
        BinOp::Xor => format!("or.u32 (xor.u32 {a}, {b}), {U24}"),
        BinOp::Eq => truth("eq"),
        BinOp::Ne => truth("ne"),
        BinOp::Lt => truth("lt"),
        BinOp::Gt => truth("gt"),
        BinOp::Div => packed(format!("div.u32 {}, {}", value(a), value(b))),
        BinOp::Rem => packed(format!("rem.u32 {}, {}", value(a), value(b))),
        // Those are left to the kernel: see `known`.
        BinOp::Pow | BinOp::Le | BinOp::Ge | BinOp::Shl | BinOp::Shr => number::unsigned(0).0.to_string(),
    }
}
