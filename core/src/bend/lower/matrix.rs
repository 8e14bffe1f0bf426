//! Rules with patterns to decision trees.
//!
//! The rules are rows of a matrix whose columns are the values being inspected, as in Maranget's "Compiling Pattern
//! Matching to Good Decision Trees" (2008), with the columns taken from left to right. The first row that fits wins.

use super::Lowering;
use super::literals::hidden;
use crate::diag::{Code, Diagnostic};
use crate::name::Name;
use crate::span::Span;
use crate::term::{CtorId, LocalId, TypeId};
use std::collections::{BTreeSet, HashMap};

/// How many nodes a decision tree may have.
const TREE_LIMIT: usize = 20_000;

/// Constructors without a rule of their own get an arm each up to this number, and share the default beyond. An arm of its
/// own lets the value be typed as that constructor.
const SEPARATE_ARMS: usize = 3;

/// A pattern with resolved names and without sugar.
#[derive(Clone, Debug)]
pub(super) enum Pat {
    Any(Option<(Name, Span)>),
    Link(Name, Span),
    Tuple(Vec<Pat>, Span),
    Dup(Vec<Pat>, Span),
    Ctor(CtorId, Vec<Pat>, Span),
    Num(u32, Span),
}

impl Pat {
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
    has_failed: bool,
}

impl<'m, 'l> Matrix<'m, 'l> {
    pub(super) fn new(lowering: &'m mut Lowering<'l>, function: Name, span: Span, params: Vec<LocalId>) -> Self {
        Matrix { lowering, function, span, params, known: HashMap::new(), size: 0, has_failed: false }
    }

    /// The tree of these rules over these columns.
    pub(super) fn tree(&mut self, mut columns: Vec<LocalId>, mut rows: Vec<Row>) -> Tree {
        self.size += 1;
        if self.size > TREE_LIMIT {
            let message = format!("the patterns of `{}` need more than {TREE_LIMIT} decisions", self.function);
            self.fail(Code::TooDeep, message, "split the function into several");
            return Tree::Fail;
        }
        loop {
            let Some(first) = rows.first() else {
                self.missing_case();
                return Tree::Fail;
            };
            if first.patterns.iter().all(|p| matches!(p, Pat::Any(_) | Pat::Link(..))) {
                let mut row = rows.swap_remove(0);
                for (column, pattern) in columns.iter().zip(std::mem::take(&mut row.patterns)) {
                    settle(&mut row, pattern, *column);
                }
                return Tree::Leaf(row);
            }
            // A column that no row looks at is settled at once.
            if rows.iter().any(|row| !matches!(row.patterns[0], Pat::Any(_) | Pat::Link(..))) {
                break;
            }
            let column = columns.remove(0);
            for row in &mut rows {
                let pattern = row.patterns.remove(0);
                settle(row, pattern, column);
            }
        }
        let column = columns.remove(0);
        self.decide(column, columns, rows)
    }

    /// Looks at the first column.
    fn decide(&mut self, column: LocalId, columns: Vec<LocalId>, rows: Vec<Row>) -> Tree {
        let looks = |row: &&Row| !matches!(row.patterns[0], Pat::Any(_) | Pat::Link(..));
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
        let span = self.lowering.frame().locals[near].span;
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
                    vec![Pat::Any(None); count]
                }
            };
            row.patterns.splice(0..0, subpatterns);
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
                    let (a, b) = (Pat::Ctor(first, vec![], self.span), Pat::Ctor(*ctor, vec![], *span));
                    self.mixed(&a, &b, "these constructors belong to different types");
                    return Tree::Fail;
                }
                seen.insert(*ctor);
            }
        }
        let missing = ctors.len() - seen.len();
        let mut arms = vec![];
        for &ctor in ctors.iter().filter(|ctor| seen.contains(ctor) || missing <= SEPARATE_ARMS) {
            arms.push(self.ctor_arm(column, &columns, &rows, ctor));
        }
        let default = (missing > SEPARATE_ARMS).then(|| {
            let others: Vec<Row> = rows.iter().filter(|r| !matches!(r.patterns[0], Pat::Ctor(..))).cloned().collect();
            Box::new(self.rest(column, &columns, others))
        });
        Tree::Match { of: column, ty, arms, default }
    }

    fn ctor_arm(&mut self, column: LocalId, columns: &[LocalId], rows: &[Row], ctor: CtorId) -> TreeArm {
        let names: Vec<Name> =
            self.lowering.program.ctors[ctor].fields.iter().map(|field| field.name.clone()).collect();
        let fields: Vec<LocalId> = names.iter().map(|name| self.local(name, column)).collect();
        let whole = self.local("whole", column);
        let mut next = vec![];
        for row in rows {
            let mut row = row.clone();
            match row.patterns.remove(0) {
                Pat::Ctor(found, subpatterns, _) if found == ctor => {
                    row.patterns.splice(0..0, subpatterns);
                }
                Pat::Ctor(..) => continue,
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
        let number = |row: &Row| if let Pat::Num(n, _) = row.patterns[0] { Some(n) } else { None };
        let numbers: BTreeSet<u32> = rows.iter().filter_map(number).collect();
        let mut cases = vec![];
        for n in numbers {
            let fitting = rows.iter().filter(|row| number(row).is_none_or(|m| m == n)).cloned();
            let fitting = fitting.map(|mut row| {
                if let Pat::Num(..) = row.patterns[0] {
                    row.patterns[0] = Pat::Any(None);
                }
                row
            });
            let fitting = fitting.collect();
            self.known.insert(column, Knowledge::Num(n));
            cases.push((n, self.rest(column, &columns, fitting)));
        }
        let others = rows.into_iter().filter(|row| number(row).is_none()).collect();
        self.known.insert(column, Knowledge::OtherNumber);
        let default = Box::new(self.rest(column, &columns, others));
        self.known.remove(&column);
        Tree::Switch { of: column, cases, default }
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
        self.fail(Code::NotExhaustive, message, "add a rule for it, or one with `*` for all that is left");
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

/// A row takes a value without looking at it.
fn settle(row: &mut Row, pattern: Pat, value: LocalId) {
    match pattern {
        Pat::Any(Some((name, _))) => row.names.push((name, value)),
        Pat::Link(name, _) => row.links.push((name, value)),
        Pat::Any(None) | Pat::Tuple(..) | Pat::Dup(..) | Pat::Ctor(..) | Pat::Num(..) => {}
    }
}
