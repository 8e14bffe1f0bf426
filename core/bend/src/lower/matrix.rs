//! Rules with patterns to decision trees.
//!
//! The rules are rows of a matrix whose columns are the values being inspected, as in Maranget's "Compiling Pattern
//! Matching to Good Decision Trees" (2008), with the columns taken from left to right. The first row that fits wins.

use super::Lowering;
use super::literals::hidden;
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::span::Span;
use girih_term::{CtorId, LocalId, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// How many nodes a decision tree may have, over and above a few for each node of the patterns.
const TREE_LIMIT: usize = 20_000;

/// How often rows may be copied while a tree is built, and how deep it may be.
const WORK_LIMIT: usize = 10_000_000;
const DEPTH_LIMIT: usize = 4_000;

/// Constructors without a rule of their own get an arm each up to this number, and share the default beyond. An arm of its
/// own lets the value be typed as that constructor.
const SEPARATE_ARMS: usize = 3;

/// The parts of a pattern. Rows are copied often, so they share them.
pub(super) type Parts = Rc<[Pat]>;

/// A pattern with resolved names and without sugar.
#[derive(Clone, Debug)]
pub(super) enum Pat {
    Any(Option<(Name, Span)>),
    Link(Name, Span),
    Tuple(Parts, Span),
    Dup(Parts, Span),
    Ctor(CtorId, Parts, Span),
    Num(u32, Span),
}

impl Pat {
    /// Whether it fits whatever comes, and looks at nothing.
    fn is_open(&self) -> bool {
        matches!(self, Pat::Any(_) | Pat::Link(..))
    }

    fn span(&self) -> Span {
        match self {
            Pat::Any(None) => Span::NONE,
            Pat::Any(Some((_, span))) => *span,
            Pat::Link(_, span)
            | Pat::Tuple(_, span)
            | Pat::Dup(_, span)
            | Pat::Ctor(_, _, span)
            | Pat::Num(_, span) => *span,
        }
    }
}

/// A rule as far as it has not been decided.
#[derive(Clone)]
pub(super) struct Row {
    /// One pattern a column.
    pub(super) patterns: Vec<Pat>,
    /// Variables whose values are known.
    pub(super) names: Vec<(Name, LocalId)>,
    /// Scopeless variables whose values are known.
    pub(super) links: Vec<(Name, LocalId)>,
    pub(super) rule: usize,
}

impl Row {
    /// Whether it fits whatever comes.
    fn is_open(&self) -> bool {
        self.patterns.iter().all(Pat::is_open)
    }
}

/// A decision tree.
pub(super) enum Tree {
    Leaf(Row),
    Split {
        of: LocalId,
        is_dup: bool,
        parts: Vec<LocalId>,
        next: Box<Tree>,
    },
    Match {
        of: LocalId,
        ty: TypeId,
        arms: Vec<TreeArm>,
        default: Option<Box<Tree>>,
    },
    Switch {
        of: LocalId,
        cases: Vec<(u32, Tree)>,
        default: Box<Tree>,
    },
    /// No rule fits; it was reported.
    Fail,
}

pub(super) struct TreeArm {
    pub(super) ctor: CtorId,
    pub(super) whole: LocalId,
    pub(super) fields: Vec<LocalId>,
    pub(super) next: Tree,
}

/// What is known of an inspected value, for the report of a missing case.
#[derive(Clone)]
enum Knowledge {
    Ctor(CtorId, Vec<LocalId>),
    Tuple(Vec<LocalId>),
    Num(u32),
    OtherNumber,
}

/// Builds the tree of one function.
pub(super) struct Matrix<'m, 'l> {
    pub(super) lowering: &'m mut Lowering<'l>,
    pub(super) function: Name,
    pub(super) span: Span,
    params: Vec<LocalId>,
    known: HashMap<LocalId, Knowledge>,
    size: usize,
    size_limit: usize,
    work: usize,
    depth: usize,
    has_failed: bool,
}

impl<'m, 'l> Matrix<'m, 'l> {
    pub(super) fn new(lowering: &'m mut Lowering<'l>, function: Name, span: Span, params: Vec<LocalId>) -> Self {
        Matrix {
            lowering,
            function,
            span,
            params,
            known: HashMap::new(),
            size: 0,
            size_limit: TREE_LIMIT,
            work: 0,
            depth: 0,
            has_failed: false,
        }
    }

    /// The tree of all rules. Where it grows with the number of patterns only, it is never too large.
    pub(super) fn whole_tree(&mut self, rows: Vec<Row>) -> Tree {
        let nodes: usize = rows.iter().flat_map(|row| &row.patterns).map(nodes).sum();
        self.size_limit = TREE_LIMIT + 4 * nodes;
        self.tree(self.params.clone(), rows)
    }

    /// The tree of these rules over these columns.
    fn tree(&mut self, mut columns: Vec<LocalId>, mut rows: Vec<Row>) -> Tree {
        self.size += 1;
        self.work += rows.len();
        if self.size > self.size_limit || self.work > WORK_LIMIT {
            let message = format!("the patterns of `{}` need more than {} decisions", self.function, self.size_limit);
            self.fail(Code::TooDeep, message, "split the function into several");
            return Tree::Fail;
        }
        if self.depth > DEPTH_LIMIT {
            let message = format!("the patterns of `{}` are more than {DEPTH_LIMIT} levels deep", self.function);
            self.fail(Code::TooDeep, message, "match on long texts and lists step by step");
            return Tree::Fail;
        }
        loop {
            let Some(first) = rows.first() else {
                self.missing_case();
                return Tree::Fail;
            };
            if first.is_open() {
                let mut row = rows.swap_remove(0);
                for (column, pattern) in columns.iter().zip(std::mem::take(&mut row.patterns)) {
                    settle(&mut row, pattern, *column);
                }
                return Tree::Leaf(row);
            }
            // A column that no row looks at is settled at once.
            if rows.iter().any(|row| !row.patterns[0].is_open()) {
                break;
            }
            let column = columns.remove(0);
            for row in &mut rows {
                let pattern = row.patterns.remove(0);
                settle(row, pattern, column);
            }
        }
        let column = columns.remove(0);
        self.depth += 1;
        let tree = self.decide(column, columns, rows);
        self.depth -= 1;
        tree
    }

    /// Looks at the first column.
    fn decide(&mut self, column: LocalId, columns: Vec<LocalId>, rows: Vec<Row>) -> Tree {
        let looks = |row: &&Row| !row.patterns[0].is_open();
        let Some(first) = rows.iter().find(looks).map(|row| row.patterns[0].clone()) else { return Tree::Fail };
        let kind = |pat: &Pat| match pat {
            Pat::Tuple(..) => 0,
            Pat::Dup(..) => 1,
            Pat::Ctor(..) => 2,
            Pat::Num(..) => 3,
            Pat::Any(_) | Pat::Link(..) => 4,
        };
        let misfit = rows.iter().filter(looks).find(|row| kind(&row.patterns[0]) != kind(&first));
        if let Some(misfit) = misfit {
            self.mixed(&first, &misfit.patterns[0].clone(), "these patterns belong to different types");
            return Tree::Fail;
        }
        match first {
            Pat::Tuple(parts, _) => self.split(column, columns, rows, parts.len(), false),
            Pat::Dup(parts, _) => self.split(column, columns, rows, parts.len(), true),
            Pat::Ctor(ctor, ..) => self.match_ctor(column, columns, rows, ctor),
            Pat::Num(..) => self.switch(column, columns, rows),
            Pat::Any(_) | Pat::Link(..) => Tree::Fail,
        }
    }

    fn local(&mut self, name: &str, near: LocalId) -> LocalId {
        let span = self.lowering.innermost().locals[near].span;
        self.lowering.local(hidden(name), span)
    }

    fn split(&mut self, column: LocalId, columns: Vec<LocalId>, rows: Vec<Row>, count: usize, is_dup: bool) -> Tree {
        let parts: Vec<LocalId> = (0..count).map(|_| self.local("part", column)).collect();
        let mut next = vec![];
        for mut row in rows {
            let subpatterns = match row.patterns.remove(0) {
                Pat::Tuple(subpatterns, span) | Pat::Dup(subpatterns, span) => {
                    if subpatterns.len() != count {
                        let message = format!("this pattern has {} parts, an earlier one {count}", subpatterns.len());
                        self.has_failed = true;
                        self.lowering.error(Code::PatternArity, span, message);
                        return Tree::Fail;
                    }
                    subpatterns
                }
                other => {
                    settle(&mut row, other, column);
                    vec![Pat::Any(None); count].into()
                }
            };
            row.patterns.splice(0..0, subpatterns.iter().cloned());
            next.push(row);
        }
        self.known.insert(column, Knowledge::Tuple(parts.clone()));
        let columns = parts.iter().copied().chain(columns).collect();
        let next = Box::new(self.tree(columns, next));
        self.known.remove(&column);
        Tree::Split { of: column, is_dup, parts, next }
    }

    fn match_ctor(&mut self, column: LocalId, columns: Vec<LocalId>, rows: Vec<Row>, first: CtorId) -> Tree {
        let ty = self.lowering.program.ctors[first].ty;
        let ctors = self.lowering.program.types[ty].ctors.clone();
        let mut seen = BTreeSet::new();
        for row in &rows {
            if let Pat::Ctor(ctor, _, span) = &row.patterns[0] {
                if self.lowering.program.ctors[*ctor].ty != ty {
                    let (a, b) = (Pat::Ctor(first, [].into(), self.span), Pat::Ctor(*ctor, [].into(), *span));
                    self.mixed(&a, &b, "these constructors belong to different types");
                    return Tree::Fail;
                }
                seen.insert(*ctor);
            }
        }
        let missing = ctors.len() - seen.len();
        let (mut groups, others) = by_ctor(rows);
        let mut arms = vec![];
        for &ctor in ctors.iter().filter(|ctor| seen.contains(ctor) || missing <= SEPARATE_ARMS) {
            let fitting = groups.remove(&ctor).unwrap_or_else(|| others.clone());
            arms.push(self.ctor_arm(column, &columns, fitting, ctor));
        }
        let default = (missing > SEPARATE_ARMS).then(|| Box::new(self.rest(column, &columns, others)));
        Tree::Match { of: column, ty, arms, default }
    }

    fn ctor_arm(&mut self, column: LocalId, columns: &[LocalId], rows: Vec<Row>, ctor: CtorId) -> TreeArm {
        let names: Vec<Name> =
            self.lowering.program.ctors[ctor].fields.iter().map(|field| field.name.clone()).collect();
        let fields: Vec<LocalId> = names.iter().map(|name| self.local(name, column)).collect();
        let whole = self.local("whole", column);
        let mut next = vec![];
        for mut row in rows {
            match row.patterns.remove(0) {
                Pat::Ctor(_, subpatterns, _) => _ = row.patterns.splice(0..0, subpatterns.iter().cloned()),
                other => {
                    settle(&mut row, other, whole);
                    row.patterns.splice(0..0, vec![Pat::Any(None); fields.len()]);
                }
            }
            next.push(row);
        }
        self.known.insert(column, Knowledge::Ctor(ctor, fields.clone()));
        let all = fields.iter().chain(columns).copied().collect();
        let next = self.tree(all, next);
        self.known.remove(&column);
        TreeArm { ctor, whole, fields, next }
    }

    /// The rows that take what is left of the column.
    fn rest(&mut self, column: LocalId, columns: &[LocalId], rows: Vec<Row>) -> Tree {
        let mut next = vec![];
        for mut row in rows {
            let pattern = row.patterns.remove(0);
            settle(&mut row, pattern, column);
            next.push(row);
        }
        self.tree(columns.to_vec(), next)
    }

    fn switch(&mut self, column: LocalId, columns: Vec<LocalId>, rows: Vec<Row>) -> Tree {
        let (groups, others) = self.by_number(rows);
        let mut cases = vec![];
        for (n, fitting) in groups {
            self.known.insert(column, Knowledge::Num(n));
            cases.push((n, self.rest(column, &columns, fitting)));
        }
        self.known.insert(column, Knowledge::OtherNumber);
        let default = Box::new(self.rest(column, &columns, others));
        self.known.remove(&column);
        Tree::Switch { of: column, cases, default }
    }

    /// The rows that fit each number of the first column, and those that fit all others. What comes after a row that fits
    /// whatever comes is left out, so that many rules with numbers and one without take little work.
    fn by_number(&mut self, rows: Vec<Row>) -> (BTreeMap<u32, Vec<Row>>, Vec<Row>) {
        let mut groups: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
        let mut others: Vec<Row> = vec![];
        let add = |group: &mut Vec<Row>, row: &Row| {
            let is_closed = group.last().is_some_and(Row::is_open);
            if !is_closed {
                group.push(row.clone());
            }
            usize::from(!is_closed)
        };
        for mut row in rows {
            if let Pat::Num(n, _) = row.patterns[0] {
                row.patterns[0] = Pat::Any(None);
                self.work += add(groups.entry(n).or_insert_with(|| others.clone()), &row);
            } else {
                self.work += groups.values_mut().map(|group| add(group, &row)).sum::<usize>();
                self.work += add(&mut others, &row);
            }
            if self.work > WORK_LIMIT {
                break; // The next node reports it.
            }
        }
        (groups, others)
    }

    /// Whether something is wrong with the rules; it was reported.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn mixed(&mut self, first: &Pat, other: &Pat, message: &str) {
        self.has_failed = true;
        self.lowering.report(
            Diagnostic::new(Code::MixedPatterns, other.span(), message).label(first.span(), "an earlier pattern"),
        );
    }

    fn fail(&mut self, code: Code, message: String, hint: &str) {
        if !std::mem::replace(&mut self.has_failed, true) {
            self.lowering.report(Diagnostic::new(code, self.span, message).hint(hint));
        }
    }

    fn missing_case(&mut self) {
        let case: Vec<String> = self.params.iter().map(|param| self.describe(*param)).collect();
        let message = format!("no rule of `{}` fits `{}`", self.function, case.join(" "));
        self.fail(Code::NotExhaustive, message, "add a rule for it, or one with `*` for everything else");
    }

    /// The pattern that is known to fit a value.
    fn describe(&self, value: LocalId) -> String {
        match self.known.get(&value) {
            None | Some(Knowledge::OtherNumber) => "_".to_string(),
            Some(Knowledge::Num(n)) => n.to_string(),
            Some(Knowledge::Tuple(parts)) => {
                format!("({})", parts.iter().map(|p| self.describe(*p)).collect::<Vec<_>>().join(", "))
            }
            Some(Knowledge::Ctor(ctor, fields)) => {
                let name = &self.lowering.program.ctors[*ctor].name;
                match fields.is_empty() {
                    true => name.to_string(),
                    false => {
                        let fields: Vec<String> = fields.iter().map(|f| self.describe(*f)).collect();
                        format!("({name} {})", fields.join(" "))
                    }
                }
            }
        }
    }
}

/// The rows that fit each constructor of the first column, and those that fit all others: each row is looked at once, and not once for each constructor.
fn by_ctor(rows: Vec<Row>) -> (BTreeMap<CtorId, Vec<Row>>, Vec<Row>) {
    let mut groups: BTreeMap<CtorId, Vec<Row>> = BTreeMap::new();
    let mut others: Vec<Row> = vec![];
    for row in rows {
        if let Pat::Ctor(ctor, ..) = row.patterns[0] {
            groups.entry(ctor).or_insert_with(|| others.clone()).push(row);
        } else {
            groups.values_mut().for_each(|group| group.push(row.clone()));
            others.push(row);
        }
    }
    (groups, others)
}

/// A row takes a value without looking at it.
fn settle(row: &mut Row, pattern: Pat, value: LocalId) {
    match pattern {
        Pat::Any(Some((name, _))) => row.names.push((name, value)),
        Pat::Link(name, _) => row.links.push((name, value)),
        Pat::Any(None) | Pat::Tuple(..) | Pat::Dup(..) | Pat::Ctor(..) | Pat::Num(..) => {}
    }
}

fn nodes(pattern: &Pat) -> usize {
    let mut count = 0;
    let mut pending = vec![pattern];
    while let Some(pattern) = pending.pop() {
        count += 1;
        match pattern {
            Pat::Any(_) | Pat::Link(..) | Pat::Num(..) => {}
            Pat::Tuple(parts, _) | Pat::Dup(parts, _) | Pat::Ctor(_, parts, _) => pending.extend(parts.iter()),
        }
    }
    count
}
