//! `@called`: what a call makes, as straight code for each definition, written from what is left of its net when the call knows what the caller has.
//!
//! Where a net depends on that, the code branches, and each way ends with the net that is left there: nodes, wires, redexes and links. How often a way was taken
//! is counted in one word; the host knows which interactions that stands for.
//!
//! A call waits at a wire if one of its arguments is not there yet, as in a machine that is driven by data: made at once, it would put the net of its definition into memory, and
//! the nets of all that it calls, before anything can be computed. What has been asked is free of effects until then. Whoever brings the argument goes on with the call.
//! If nothing else is left to be done, some calls are made without their arguments, because these may depend on them.
//!
//! A way that leaves nothing but one call, of a definition that asks for a pair first, with a pair, is gone on with at once, without a way through memory: the
//! pair is never written. So what is one call after the other is a loop here, until the lane has to look around, or places are missing.

use super::definitions::MOST_REDEXES;
use super::partial_reduction::{Net, Next, Port, U24};
use crate::arguments;
use crate::book::{Book, DefinitionId};
use crate::number;
use crate::rules::{Rule, meeting};
use crate::word::{Kind, Word};
use girih_base::num::BinOp;
use std::collections::HashMap;
use std::fmt::Write;

/// The most branches of a definition, and of one that no redex of another one names: it is put into others where these choose it.
const BRANCHES: [usize; 2] = [14, 2];
/// The most ways of a book: drivers take seconds for code with more, and cards fetch it too slowly.
const MOST_WAYS: usize = 64;
/// Links that are made at once; others become redexes.
const LINKS: usize = 2;
/// What `@called` gives: how many redexes (12 bits), calls (12 bits) and links there are; how many nodes (16 bits) and wires; the ends of the links.
const RESULTS: usize = 2 + 2 * LINKS;
/// What a way gives beside that: the definition that is called next, or 0, the place of its pair, and the parts of that.
const TAIL: usize = 4;
/// Places that stand a row apart, in each block of places: see `@woven`. A lane takes so many at once.
pub const PIECE: u32 = 32;
/// The most nodes or wires that a call makes.
const MOST_MADE: usize = (1 << 16) - 2;
/// How many nodes and wires were made, if the call waits; the wire comes next.
const WAITS: u32 = u32::MAX;

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
    /// Whether a call's places have to be of one piece: lanes take no others then.
    pub in_pieces: bool,
}

const HEAD: &str = "fn @called(%nodes: buffer, %wires: buffer, %lists: buffer, %stack: buffer, %book: buffer, %lanes: u32, %np_0: u32, %wp_0: u32, %ne: u32, %we: u32, \
                    %node_count: u32, %listed: bool, %top: u32, %low: u32, %state: u32, %k: u32, %may_wait: bool, %definition_0: u32, %y_0: u32, %y1_0: u32, %y2_0: u32) \
                    -> u32, u32, u32, u32, u32, u32, u32 {
  %e0: u32, %e1: u32, %e2: u32, %e3: u32, %e4: u32, %e5: u32, %e6: u32 = loop (
    %definition: u32 = %definition_0, %y: u32 = %y_0, %y1: u32 = %y1_0, %y2: u32 = %y2_0, %np: u32 = %np_0, %wp: u32 = %wp_0, %i: u32 = 0
  ) {
";

/// Where the places of a call begin, if they are of one piece; where there is no list, its first words are read, which are at hand.
const PIECES: &str = "  %nw = call @woven(%np)
  %ww = call @woven(%wp)
  %nl = select.u32 %listed, %nw, 0
  %wl = select.u32 %listed, (add.u32 %node_count, %ww), 0
";

/// Behind the ways: the call that is left is made, or put into memory.
const FOOT: &str = "  if (eq.u32 %r1, 0xffffffff) {
    ; What was gone on with becomes a call in memory.
    if (ne.u32 %i, 0) {
      %at = mul.u32 (shr.u32 %y, 4), 2
      atomic.store.u32 %nodes[%at], %y1
      atomic.store.u32 %nodes[%at + 1], %y2
      store.u32x2 %stack[%low], (vector.u32x2 (or.u32 (shl.u32 %definition, 4), 1), %y)
      %before = add.u32 %state, (mul.u32 %lanes, 5)
      store.u32 %stack[%before], (add.u32 (load.u32 %stack[%before]), (sub.u32 %i, 1))
      break 0x1000, (or.u32 (sub.u32 %np, %np_0), (shl.u32 (sub.u32 %wp, %wp_0), 16)), 0, 0, 0, 0, (sub.u32 %i, 1)
    }
    break 0, 0xffffffff, %r2, 0, 0, 0, 0
  }
  %np_1 = add.u32 %np, (and.u32 %r1, 0xffff)
  %wp_1 = add.u32 %wp, (shr.u32 %r1, 16)
  %goes: bool = if (ne.u32 %next, 0) {
    %it = add.u32 256, (shl.u32 (shr.u32 %next, 4), 2)
    %node_fits = le.u32 (add.u32 %np_1, (load.u32 %book[%it])), %ne
    %wire_fits = le.u32 (add.u32 %wp_1, (load.u32 %book[%it + 1])), %we
    ; The lane looks around before each sixteenth step.
    %soon = ne.u32 (and.u32 (add.u32 %k, %i), 15), 14
    yield (and.bool (and.bool %node_fits, %wire_fits), %soon)
  } else {
    yield false
  }
  if %goes {
    continue (shr.u32 %next, 4), %q, %q1, %q2, %np_1, %wp_1, (add.u32 %i, 1)
  }
  if (ne.u32 %next, 0) {
    %at = mul.u32 (shr.u32 %q, 4), 2
    atomic.store.u32 %nodes[%at], %q1
    atomic.store.u32 %nodes[%at + 1], %q2
    store.u32x2 %stack[%low], (vector.u32x2 %next, %q)
  }
  if (ne.u32 %i, 0) {
    %again = add.u32 %state, (mul.u32 %lanes, 5)
    store.u32 %stack[%again], (add.u32 (load.u32 %stack[%again]), %i)
  }
  break %r0, (or.u32 (sub.u32 %np_1, %np_0), (shl.u32 (sub.u32 %wp_1, %wp_0), 16)), %r2, %r3, %r4, %r5, %i
  }
  return %e0, %e1, %e2, %e3, %e4, %e5, %e6
}
";

/// The calls of a book; `numbers` says whether they look at numbers, which are all in words then. None if there were too many ways, or a definition is made in a way that no call
/// can make.
pub fn of(book: &Book, numbers: bool) -> Option<Calls> {
    let mut named = vec![false; book.definitions.len()];
    for (a, b) in book.definitions.iter().flat_map(|definition| &definition.template.links) {
        for word in [a, b].into_iter().filter(|word| word.kind() == Kind::Ref) {
            named[word.index()] = true;
        }
    }
    let branches: Vec<usize> = named.into_iter().map(|named| BRANCHES[usize::from(!named)]).collect();
    // Which definitions ask for a pair first does not depend on how the calls that they leave are made.
    let arities = arguments::counts(book);
    let all = |pairs: &[bool], in_pieces: bool| -> Option<Vec<DefinitionWriter>> {
        let mut written: Vec<DefinitionWriter> = vec![];
        for (id, _) in book.definitions.iter_enumerated() {
            let (names, first) = written.last().map_or((0, 0), |last| (last.names, last.first + last.ways.len()));
            let roles = HashMap::from([(0, Role::Rest(arities[id.index()]))]);
            let begin = DefinitionWriter {
                names,
                first,
                pairs: pairs.to_vec(),
                in_pieces,
                roles,
                ..DefinitionWriter::default()
            };
            written.push(begin.definition(book, id, numbers, branches[id.index()])?);
        }
        Some(written)
    };
    let first = all(&[], false)?;
    let pairs: Vec<bool> = first.iter().map(|writer| writer.asks_for_pair).collect();
    let in_pieces = first.iter().all(|writer| writer.need.nodes.max(writer.need.wires) <= PIECE);
    let mut calls = Calls { text: HEAD.to_owned(), in_pieces, ..Calls::default() };
    if in_pieces {
        calls.text.push_str(PIECES);
    }
    let names = |prefix: &str| (0..RESULTS).map(|i| format!("%{prefix}{i}: u32")).collect::<Vec<_>>().join(", ");
    let tail = "%next: u32, %q: u32, %q1: u32, %q2: u32";
    let _ = writeln!(calls.text, "  {}, {tail} = switch.u32 %definition", names("r"));
    for (number, writer) in all(&pairs, in_pieces)?.into_iter().enumerate() {
        let _ = writeln!(calls.text, "  case {number} {{\n{}  }}", writer.text);
        calls.needs.push(writer.need);
        calls.ways.extend(writer.ways);
    }
    let zeros = ["0"; RESULTS + TAIL].join(", ");
    let _ = writeln!(calls.text, "  default {{\n    yield {zeros}\n  }}");
    calls.text.push_str(FOOT);
    (calls.ways.len() <= MOST_WAYS).then_some(calls)
}

/// Writes the code of one definition.
#[derive(Default)]
struct DefinitionWriter {
    text: String,
    names: u32,
    /// Branches that may still come.
    left: usize,
    need: Need,
    /// Ways of the definitions before this one.
    first: usize,
    ways: Vec<[u32; Rule::ALL.len()]>,
    /// Whether what is asked first is whether the caller has a pair; what the caller has is not used as a word then, if it is one.
    asks_for_pair: bool,
    has_asked: bool,
    /// The same of all definitions, if it is known.
    pairs: Vec<bool>,
    /// Whether a call's places are all of one piece.
    in_pieces: bool,
    /// What the words are that the caller has.
    roles: HashMap<u32, Role>,
    /// What is to be done on this way if the call is made.
    effects: Vec<String>,
}

/// What a word of the caller is to the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A pair of an argument and the rest, with so many arguments in all; the result, if there are none.
    Rest(u32),
    /// An argument, or a part of one.
    Argument,
}

impl Role {
    /// The roles of the parts of a pair.
    fn parts(self) -> [Role; 2] {
        match self {
            Role::Rest(0) => [Role::Rest(0); 2],
            Role::Rest(more) => [Role::Argument, Role::Rest(more - 1)],
            Role::Argument => [Role::Argument; 2],
        }
    }
}

/// A word that the kernel knows; 0 is what the caller has.
fn named(name: u32) -> String {
    if name == 0 { "%y".to_owned() } else { format!("%v{name}") }
}

impl DefinitionWriter {
    /// With the code of a definition; none if it is made in a way that no call can make.
    fn definition(self, book: &Book, id: DefinitionId, numbers: bool, branches: usize) -> Option<DefinitionWriter> {
        // With fewer branches if there is something that has no end.
        for branches in [branches, 0] {
            let DefinitionWriter { names, first, ref pairs, in_pieces, ref roles, .. } = self;
            let (pairs, roles) = (pairs.clone(), roles.clone());
            let begin = DefinitionWriter { names, first, pairs, in_pieces, roles, ..DefinitionWriter::default() };
            let mut writer = DefinitionWriter { left: branches, ..begin };
            if writer.way(Net::new(book, id, 0, numbers && branches > 0), 2) {
                return Some(writer);
            }
        }
        None
    }

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
                    self.asks_for_pair |= !self.has_asked && given == 0;
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
        self.has_asked = true;
        let results: Vec<String> = (0..RESULTS + TAIL).map(|i| format!("%g{own}_{i}: u32")).collect();
        self.line(depth, &format!("{} = if ({condition}) {{", results.join(", ")));
        own
    }

    fn close(&mut self, own: u32, depth: usize) {
        self.line(depth, "}");
        let results: Vec<String> = (0..RESULTS + TAIL).map(|i| format!("%g{own}_{i}")).collect();
        self.line(depth, &format!("yield {}", results.join(", ")));
    }

    /// The caller's word and what stands behind it, if that is a wire that somebody has been at.
    fn behind(&mut self, given: u32, depth: usize) -> (String, String) {
        let (word, beyond) = (named(given), named(self.name()));
        self.line(depth, &format!("{beyond} = call @behind(%wires, {word})"));
        (word, beyond)
    }

    fn pair(&mut self, net: &Net<'_>, given: u32, node: usize, depth: usize) -> bool {
        let parts = [self.name(), self.name()];
        let [first, second] = parts.map(named);
        if let Some(role) = self.roles.get(&given).copied() {
            self.roles.extend(parts.into_iter().zip(role.parts()));
        }
        let before = self.effects.len();
        let (own, left) = if given == 0 {
            // What the caller has itself has been looked at already.
            self.line(depth, &format!("{first} = or.u32 %y1, 0"));
            self.line(depth, &format!("{second} = or.u32 %y2, 0"));
            (self.open("eq.u32 (and.u32 %y, 15), 4", depth), "%y".to_owned())
        } else {
            let (word, beyond) = self.behind(given, depth);
            self.line(depth, &format!("{first}, {second} = call @called.pair(%nodes, {beyond})"));
            let own = self.open(&format!("ne.u32 (min.u32 {first}, {second}), 0"), depth);
            self.effects.push(format!("call @called.leave(%wires, {word}, {beyond})"));
            (own, beyond)
        };
        self.effects.push(format!("call @called.free(%nodes, {left})"));
        let mut taken = net.clone();
        taken.paired(node, parts);
        self.or_unknown(own, taken, (net, given, node), (&left, before), depth)
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
        let before = self.effects.len();
        if given != 0 {
            self.effects.push(format!("call @called.leave(%wires, {word}, {beyond})"));
        }
        if calls {
            self.effects.push(format!("call @called.count(%stack, %lanes, %state, {beyond}, {})", named(name)));
        }
        let mut taken = net.clone();
        taken.numbered(node, name);
        self.or_unknown(own, taken, (net, given, node), (&beyond, before), depth)
    }

    /// The way where the caller has what was asked for, in a branch that was opened, and the one where what it has stays unknown; and closes it. If it is an
    /// argument that is not there yet, the call waits. `before` is how many effects there were before the question.
    fn or_unknown(
        &mut self,
        own: u32,
        taken: Net<'_>,
        (net, given, node): (&Net<'_>, u32, usize),
        (word, before): (&str, usize),
        depth: usize,
    ) -> bool {
        let is_made = self.way(taken, depth + 1);
        self.effects.truncate(before);
        self.line(depth, "} else {");
        let mut other = net.clone();
        other.unknown(Port::Given(given), node);
        let is_made = is_made
            && if self.roles.get(&given) == Some(&Role::Argument) {
                let absent = self.open(&format!("and.bool %may_wait, (eq.u32 (and.u32 {word}, 15), 0)"), depth + 1);
                let mut waits = ["0"; RESULTS + TAIL].map(str::to_owned);
                waits[1] = WAITS.to_string();
                waits[2] = word.to_owned();
                self.line(depth + 2, &format!("yield {}", waits.join(", ")));
                self.line(depth + 1, "} else {");
                let is_made = self.way(other, depth + 2);
                self.close(absent, depth + 1);
                is_made
            } else {
                self.way(other, depth + 1)
            };
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

    /// The definition and the pair that a call is made of, if it can be gone on with.
    fn goes_on(&self, net: &Net<'_>, definition: Port, pair: Port) -> Option<(Word, usize)> {
        let (Port::Word(word), Port::Node(node)) = (definition, pair) else { return None };
        let is_pair = net.nodes[node].is_some_and(|(kind, _)| kind == Kind::Con);
        let asks = word.kind() == Kind::Ref && self.pairs.get(word.index()).copied().unwrap_or(false);
        (is_pair && asks).then_some((word, node))
    }

    /// A place for a node or a wire: one of those from `next` on, the first of which is number `first` of a list and place `woven`.
    fn place(&mut self, depth: usize, name: &str, place: usize, [next, first, woven]: [&str; 3], list: &str) {
        if self.in_pieces {
            let far = place * PIECE as usize;
            self.line(depth, &format!("%l{name} = load.u32 %lists[%{first} + {far}]"));
            self.line(depth, &format!("%{name} = select.u32 %listed, %l{name}, (add.u32 %{woven}, {far})"));
        } else {
            let at = format!("(add.u32 %{next}, {place})");
            self.line(depth, &format!("%{name} = call @called.place(%lists, {list}, {at}, %listed)"));
        }
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
        let mut pair = None;
        for (a, b) in &net.rest {
            let (Some(a), Some(b)) = (net.end(*a), net.end(*b)) else { return false };
            let kinds = [a, b].map(|port| left.kind(port));
            let words = [left.word(a), left.word(b)];
            match kinds {
                [Some(first), Some(second)] if meeting(first, second).0.rule == Rule::Call => {
                    pair = self.goes_on(net, a, b).or_else(|| self.goes_on(net, b, a));
                    calls.push(words);
                }
                [Some(a), Some(b)] if a != Kind::Var && b != Kind::Var => redexes.push(words),
                [_, _] if links.len() < LINKS => links.push(words),
                [_, _] => redexes.push(words),
            }
        }
        for effect in self.effects.clone() {
            self.line(depth, &effect);
        }
        // The call that is gone on with: its definition, and the node of its pair.
        let is_alone = calls.len() == 1 && redexes.is_empty() && links.is_empty();
        let tail = pair.filter(|_| is_alone);
        let Left { wires, behind, .. } = left;
        let (made, wired) = (nodes.len(), wires.len() + behind.len());
        for (place, (i, _)) in nodes.iter().enumerate() {
            self.place(depth, &format!("n{own}_{i}"), place, ["np", "nl", "nw"], "0");
        }
        for place in 0..wired {
            self.place(depth, &format!("w{own}_{place}"), place, ["wp", "wl", "ww"], "%node_count");
        }
        for (place, word) in &behind {
            self.line(depth, &format!("atomic.store.u32 %wires[%w{own}_{place}], {word}"));
        }
        for (i, words) in nodes.iter().filter(|(i, _)| tail.is_none_or(|(_, pair)| pair != *i)) {
            self.line(depth, &format!("%p{own}_{i} = mul.u32 %n{own}_{i}, 2"));
            for (part, word) in words.iter().enumerate() {
                self.line(depth, &format!("atomic.store.u32 %nodes[%p{own}_{i} + {part}], {word}"));
            }
        }
        let stored = if tail.is_some() { &vec![] } else { &calls };
        for (to, way, all) in [("top", "add", &redexes), ("low", "sub", stored)] {
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
        let parts = tail.and_then(|(_, pair)| nodes.iter().find(|(i, _)| *i == pair)).map(|(_, words)| words.clone());
        if let (Some((definition, pair)), Some(parts)) = (tail, parts) {
            results.push(definition.0.to_string());
            results.push(format!("(or.u32 (shl.u32 %n{own}_{pair}, 4), {})", Kind::Con as u32));
            results.extend(parts);
        }
        results.resize(RESULTS + TAIL, "0".to_owned());
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
