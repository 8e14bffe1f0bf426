//! Functions of the functional syntax: rules over patterns.

use super::definition_scope::{Binding, apply};
use super::expressions::with_binds;
use super::literals::hidden;
use super::matrix::{Matrix, Pat, Row, Tree};
use super::{Lowering, invalid};
use crate::ast::{FunBody, FunDef, Ident, Pattern, PatternKind, Rule};
use girih_base::diag::{Code, Diagnostic};
use girih_base::name::Name;
use girih_base::plural::counted;
use girih_base::span::Span;
use girih_term::{Arm, Bind, CtorId, LocalId, Match, Switch, Target, Term, TermKind};
use std::collections::{HashMap, HashSet};

/// What a decision tree needs to know of a rule.
struct RuleInfo<'r> {
    rule: &'r Rule,
    /// Its variables, in the order of the text.
    names: Vec<(Name, Span)>,
    /// Its scopeless variables.
    links: Vec<(Name, Span)>,
    /// How many leaves lead to it.
    leaves: usize,
    /// Its body as a function of its variables, if several leaves lead to it.
    shared: Option<LocalId>,
}

impl Lowering<'_> {
    /// The parameters and the body of a function.
    pub(super) fn equations(&mut self, def: &FunDef) -> Term {
        match (&def.body, &def.signature) {
            (FunBody::Equation(body), signature) => {
                let params = signature.iter().flat_map(|s| &s.params);
                self.check_repeated(params.clone().map(|p| (&p.name.node, p.name.span)));
                for param in params {
                    self.bind_param(&param.name.node, param.name.span);
                }
                self.expression(body)
            }
            (FunBody::Rules(rules), _) => self.rules(&def.name, rules),
        }
    }

    /// The error that a parameter stands in parentheses, as in other languages, where only a constructor may.
    fn parameter_in_parentheses(&mut self, name: &Ident) {
        let message = format!("there is no constructor `{}`", name.node);
        let hint =
            format!("a parameter has no parentheses: `f {0} = …`, or `def f({0}):` and `return …` below it", name.node);
        self.report(Diagnostic::new(Code::UnboundConstructor, name.span, message).hint(hint));
    }

    fn rules(&mut self, name: &Ident, rules: &[Rule]) -> Term {
        let arity = rules.first().map_or(0, |rule| rule.patterns.len());
        if let Some(other) = rules.iter().find(|rule| rule.patterns.len() != arity) {
            let message = format!(
                "this rule of `{}` has {}, the first has {arity}",
                name.node,
                counted(other.patterns.len(), "pattern")
            );
            self.report(
                Diagnostic::new(Code::RuleArity, other.span, message)
                    .label(rules[0].span, "the first rule")
                    .hint("all rules of a function have the same number of patterns"),
            );
            return invalid(name.span);
        }
        if arity == 0 {
            for later in &rules[1..] {
                self.report(Diagnostic::new(Code::UnreachableMatch, later.span, "this rule is never reached"));
            }
            return self.expression(&rules[0].body);
        }
        let params: Vec<LocalId> = (0..arity).map(|i| self.parameter(rules, i)).collect();
        let (mut rows, mut infos) = (vec![], vec![]);
        for (i, rule) in rules.iter().enumerate() {
            let (mut names, mut links) = (vec![], vec![]);
            let patterns = rule.patterns.iter().map(|p| self.resolve_pattern(p)).collect::<Option<Vec<Pat>>>();
            let Some(patterns) = patterns else { return invalid(name.span) };
            patterns.iter().for_each(|p| variables(p, &mut names, &mut links));
            let names = self.unique_names(names);
            rows.push(Row { patterns, names: vec![], links: vec![], rule: i });
            infos.push(RuleInfo { rule, names, links, leaves: 0, shared: None });
        }
        let mut matrix = Matrix::new(self, name.node.clone(), name.span, params);
        let tree = matrix.whole_tree(rows);
        // With an error in the rules the tree does not say which of them are reached.
        let is_whole = !matrix.has_failed();
        count_leaves(&tree, &mut infos);
        let mut binds = vec![];
        // Where all are reached nothing is looked up: that would cost each function a search.
        let is_lost = is_whole && infos.iter().any(|info| info.leaves == 0);
        let unreachable = if is_lost { self.unreachable(&infos) } else { String::new() };
        for info in &mut infos {
            self.share(info, is_whole, &unreachable, &mut binds);
        }
        with_binds(binds, self.emit(tree, &infos, name.span))
    }

    /// A parameter, named as the rules name it if they all do so alike.
    fn parameter(&mut self, rules: &[Rule], i: usize) -> LocalId {
        let name_of = |rule: &Rule| match &rule.patterns[i].node {
            PatternKind::Var(name) => Some(name.clone()),
            _ => None,
        };
        let first = name_of(&rules[0]);
        let name = first.filter(|name| rules.iter().all(|rule| name_of(rule).as_ref() == Some(name)));
        let local = self.local(name.unwrap_or_else(|| hidden(&format!("arg{i}"))), rules[0].patterns[i].span);
        self.innermost().params.push(local);
        local
    }

    /// The variables of a rule; of several of one name the last counts.
    fn unique_names(&mut self, names: Vec<(Name, Span)>) -> Vec<(Name, Span)> {
        self.check_repeated(names.iter().map(|(name, span)| (name, *span)));
        let mut unique = HashSet::new();
        let mut names: Vec<_> = names.into_iter().rev().filter(|(name, _)| unique.insert(name.clone())).collect();
        names.reverse();
        names
    }

    /// Reports names that a rule or a list of parameters binds twice.
    pub(super) fn check_repeated<'n>(&mut self, names: impl DoubleEndedIterator<Item = (&'n Name, Span)>) {
        let mut seen: HashMap<&Name, Span> = HashMap::new();
        for (name, span) in names.rev() {
            if let Some(later) = seen.get(name) {
                self.report(
                    Diagnostic::new(Code::RepeatedBind, span, format!("`{name}` is bound twice here"))
                        .label(*later, "this one is used")
                        .hint("give one of them another name"),
                );
            } else {
                seen.insert(name, span);
            }
        }
    }

    /// Resolves the names of a pattern and removes its sugar; none after an error.
    fn resolve_pattern(&mut self, pattern: &Pattern) -> Option<Pat> {
        let span = pattern.span;
        Some(match &pattern.node {
            PatternKind::Wild => Pat::Any(None),
            PatternKind::Var(name) => match self.find_ctor(name) {
                Some(ctor) => {
                    self.note_constructor(name, span);
                    self.ctor_pattern(ctor, vec![], span)?
                }
                None => Pat::Any(Some((name.clone(), span))),
            },
            PatternKind::Link(name) => Pat::Link(name.clone(), span),
            PatternKind::Tuple(parts) => Pat::Tuple(self.resolve_patterns(parts)?.into(), span),
            PatternKind::Sup(parts) => Pat::Dup(self.resolve_patterns(parts)?.into(), span),
            PatternKind::Num(n) => Pat::Num(*n, span),
            PatternKind::Char(c) => Pat::Num(u32::from(*c), span),
            PatternKind::Ctor(name, parts) => {
                self.note_constructor(&name.node, name.span);
                let parts = self.resolve_patterns(parts)?;
                match self.find_ctor(&name.node) {
                    Some(ctor) => self.ctor_pattern(ctor, parts, span)?,
                    None => {
                        match parts.is_empty() && is_variable(&name.node) {
                            true => self.parameter_in_parentheses(name),
                            false => self.unknown_constructor(&name.node, name.span),
                        }
                        return None;
                    }
                }
            }
            PatternKind::List(parts) => {
                let (nil, cons) = (self.program.known.list_nil?, self.program.known.list_cons?);
                let parts = self.resolve_patterns(parts)?;
                self.chain(parts, nil, cons, span)?
            }
            PatternKind::Str(text) => {
                let (nil, cons) = (self.program.known.string_nil?, self.program.known.string_cons?);
                self.chain(text.chars().map(|c| Pat::Num(u32::from(c), span)).collect(), nil, cons, span)?
            }
        })
    }

    /// A chain of `cons` patterns that ends in `nil`.
    fn chain(&mut self, items: Vec<Pat>, nil: CtorId, cons: CtorId, span: Span) -> Option<Pat> {
        if items.len() > PATTERN_LIMIT {
            let message = format!("this pattern has {} elements, more than {PATTERN_LIMIT}", items.len());
            self.report(
                Diagnostic::new(Code::TooDeep, span, message).hint("match on long texts and lists step by step"),
            );
            return None;
        }
        let nil = Pat::Ctor(nil, [].into(), span);
        Some(items.into_iter().rev().fold(nil, |tail, head| Pat::Ctor(cons, [head, tail].into(), span)))
    }

    fn resolve_patterns(&mut self, patterns: &[Pattern]) -> Option<Vec<Pat>> {
        patterns.iter().map(|p| self.resolve_pattern(p)).collect()
    }

    fn ctor_pattern(&mut self, ctor: CtorId, parts: Vec<Pat>, span: Span) -> Option<Pat> {
        let info = &self.program.ctors[ctor];
        let (expected, found) = (info.fields.len(), parts.len());
        if expected != found {
            let plural = if expected == 1 { "field" } else { "fields" };
            let message = format!("`{}` has {expected} {plural}, this pattern has {found}", info.name);
            self.error(Code::PatternArity, span, message);
            return None;
        }
        Some(Pat::Ctor(ctor, parts.into(), span))
    }

    /// What to do about rules that are never reached: perhaps a variable before them was meant for a constructor.
    fn unreachable(&mut self, infos: &[RuleInfo<'_>]) -> String {
        let is_upper = |name: &&Name| name.starts_with(|c: char| c.is_ascii_uppercase());
        let names: Vec<Name> =
            infos.iter().flat_map(|info| &info.names).map(|(name, _)| name).filter(is_upper).cloned().collect();
        for name in names {
            if self.may_search()
                && let [first, ..] = self.constructors_called(&name).as_slice()
            {
                return format!("`{name}` is a variable above, and matches everything: write `{first}`");
            }
        }
        "remove this rule".to_owned()
    }

    /// Lowers the body of a rule to which several leaves lead as a function, and that of one to which none leads for its
    /// errors only.
    fn share(&mut self, info: &mut RuleInfo<'_>, tree_is_whole: bool, unreachable: &str, binds: &mut Vec<Bind>) {
        if info.leaves == 1 {
            return;
        }
        let span = info.rule.body.span;
        let mark = self.enter();
        let mut params: Vec<LocalId> = info.names.iter().map(|(name, at)| self.bind_local(name, *at)).collect();
        let mut links = vec![];
        for (name, at) in &info.links {
            let param = self.local(name.clone(), *at);
            params.push(param);
            links.push(Bind { target: Target::Link(name.clone()), value: self.local_term(param, *at) });
        }
        let body = self.expression(&info.rule.body);
        let body = with_binds(links, body);
        self.leave(mark);
        if info.leaves == 0 {
            if tree_is_whole {
                let message = "earlier rules match everything that this one matches";
                self.report(Diagnostic::new(Code::UnreachableMatch, info.rule.span, message).hint(unreachable));
            }
            return;
        }
        let local = self.local(hidden("rule"), span);
        let value = Term::new(TermKind::Lambda(params, Box::new(body)), span);
        binds.push(Bind { target: Target::Var(local), value });
        info.shared = Some(local);
    }

    fn emit(&mut self, tree: Tree, infos: &[RuleInfo<'_>], span: Span) -> Term {
        match tree {
            Tree::Fail => invalid(span),
            Tree::Leaf(row) => self.leaf(row, infos),
            Tree::Split { of, is_dup, parts, next } => {
                let parts = parts.into_iter().map(Some).collect();
                let target = if is_dup { Target::Dup(parts) } else { Target::Tuple(parts) };
                let value = self.local_term(of, span);
                with_binds(vec![Bind { target, value }], self.emit(*next, infos, span))
            }
            Tree::Match { of, ty, arms, default } => {
                let mut lowered = vec![];
                for arm in arms {
                    let body = self.emit(arm.next, infos, span);
                    lowered.push(Arm { ctor: arm.ctor, whole: Some(arm.whole), fields: arm.fields, body });
                }
                let default = default.map(|default| self.emit(*default, infos, span));
                let scrutinee = self.local_term(of, span);
                Term::new(TermKind::Match(Box::new(Match { scrutinee, ty, arms: lowered, default })), span)
            }
            Tree::Switch { of, cases, default } => {
                let mut lowered = vec![];
                for (n, case) in cases {
                    lowered.push((n, self.emit(case, infos, span)));
                }
                let default = self.emit(*default, infos, span);
                let scrutinee = self.local_term(of, span);
                let switch = Switch { scrutinee, cases: lowered, pred: None, default };
                Term::new(TermKind::Switch(Box::new(switch)), span)
            }
        }
    }

    fn leaf(&mut self, row: Row, infos: &[RuleInfo<'_>]) -> Term {
        let info = &infos[row.rule];
        let span = info.rule.body.span;
        // Of several variables of one name the last counts.
        let values: HashMap<Name, LocalId> = row.names.into_iter().collect();
        if let Some(shared) = info.shared {
            let link = |name: &Name| row.links.iter().find(|(link, _)| link == name).map(|(_, local)| local);
            let names = info.names.iter().filter_map(|(name, _)| values.get(name));
            let links = info.links.iter().filter_map(|(name, _)| link(name));
            let args = names.chain(links).map(|local| self.local_term(*local, span)).collect();
            return apply(self.local_term(shared, span), args, span);
        }
        let mark = self.enter();
        for (name, at) in &info.names {
            if let Some(local) = values.get(name) {
                self.bind(name.clone(), *at, Binding::Local(*local));
            }
        }
        let body = self.expression(&info.rule.body);
        self.leave(mark);
        let at = |name: &Name| info.links.iter().find(|(link, _)| link == name).map_or(span, |(_, at)| *at);
        let links = row.links.into_iter().map(|(name, local)| {
            let value = self.local_term(local, at(&name));
            Bind { target: Target::Link(name), value }
        });
        let links = links.collect();
        with_binds(links, body)
    }
}

/// The longest list or text that a pattern may be.
const PATTERN_LIMIT: usize = 1_000;

fn variables(pattern: &Pat, names: &mut Vec<(Name, Span)>, links: &mut Vec<(Name, Span)>) {
    match pattern {
        Pat::Any(Some((name, span))) => names.push((name.clone(), *span)),
        Pat::Link(name, span) => links.push((name.clone(), *span)),
        Pat::Any(None) | Pat::Num(..) => {}
        Pat::Tuple(parts, _) | Pat::Dup(parts, _) | Pat::Ctor(_, parts, _) => {
            parts.iter().for_each(|part| variables(part, names, links));
        }
    }
}

fn count_leaves(tree: &Tree, infos: &mut [RuleInfo<'_>]) {
    match tree {
        Tree::Leaf(row) => infos[row.rule].leaves += 1,
        Tree::Split { next, .. } => count_leaves(next, infos),
        Tree::Match { arms, default, .. } => {
            arms.iter().for_each(|arm| count_leaves(&arm.next, infos));
            default.iter().for_each(|default| count_leaves(default, infos));
        }
        Tree::Switch { cases, default, .. } => {
            cases.iter().for_each(|(_, case)| count_leaves(case, infos));
            count_leaves(default, infos);
        }
        Tree::Fail => {}
    }
}

/// Whether a name looks like that of a variable: constructors have names such as `Maybe/None`.
fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains('/')
}
