//! Removal of bindings whose variables are not used. All bindings are pure, so a value that nobody needs is not computed.
//! A tuple that is taken apart where it is made is no tuple: each part is bound, or removed, by itself.
//!
//! One pass reaches the fixed point: the scope of a binding is simplified before the binding is looked at, and the uses
//! in a value that is removed do not count any more.

use super::{Bind, Body, Def, LocalId, Target, Term, TermKind};

/// Removes unused bindings from a definition, and unused parts from its tuple patterns. No pattern of a tuple is left for a
/// tuple of as many parts.
pub fn simplify(def: &mut Def) {
    simplify_with(def, |_value| true);
}

/// The same, but values that may fail or not end stay. In a program that has been simplified, these are what a pass needs no more that the
/// evaluator still computes.
pub fn simplify_total(def: &mut Def) {
    simplify_with(def, is_total);
}

fn simplify_with(def: &mut Def, may_go: fn(&Term) -> bool) {
    let Body::Term(body) = &mut def.body else { return };
    let mut uses = Uses { counts: vec![0; def.locals.len()], may_go };
    uses.count(body, Count::More);
    uses.simplify(body);
}

/// Whether a term gives a value for certain, whatever its variables are.
pub fn is_total(term: &Term) -> bool {
    match &term.kind {
        TermKind::Local(_) | TermKind::Global(_) | TermKind::Num(_) | TermKind::Str(_) | TermKind::Era => true,
        TermKind::Lambda(..) => true,
        TermKind::Ctor(_, parts) | TermKind::Tuple(parts) | TermKind::List(parts) => parts.iter().all(is_total),
        _may_fail => false,
    }
}

/// How often each local variable is used.
struct Uses {
    counts: Vec<u32>,
    /// Whether a value may be removed that nobody uses.
    may_go: fn(&Term) -> bool,
}

/// Whether uses are added or taken away.
#[derive(Clone, Copy)]
enum Count {
    More,
    Fewer,
}

impl Uses {
    fn is_used(&self, local: LocalId) -> bool {
        self.counts.get(local.index()).is_some_and(|&count| count > 0)
    }

    fn count(&mut self, term: &Term, how: Count) {
        let mut todo = vec![term];
        while let Some(term) = todo.pop() {
            if let TermKind::Local(local) = term.kind
                && let Some(count) = self.counts.get_mut(local.index())
            {
                match how {
                    Count::More => *count += 1,
                    Count::Fewer => *count -= 1,
                }
            }
            todo.extend(term.children());
        }
    }

    fn simplify(&mut self, term: &mut Term) {
        match &mut term.kind {
            TermKind::Let(binds, body) => {
                self.take_tuples_apart(binds);
                self.simplify(body);
                self.simplify_binds(binds);
                if binds.is_empty() {
                    *term = std::mem::replace(body, Term::new(TermKind::Era, term.span));
                }
            }
            _ => term.children_mut().into_iter().for_each(|child| self.simplify(child)),
        }
    }

    /// Makes a binding for each part of a tuple that is bound to a pattern of as many parts.
    fn take_tuples_apart(&mut self, binds: &mut Vec<Bind>) {
        let is_apart = |bind: &Bind| match (&bind.target, &bind.value.kind) {
            (Target::Tuple(targets), TermKind::Tuple(parts)) => targets.len() != parts.len(),
            _ => true,
        };
        // A part may be such a tuple again, but it is bound to a variable.
        if binds.iter().all(is_apart) {
            return;
        }
        for bind in std::mem::take(binds) {
            match bind {
                Bind { target: Target::Tuple(targets), value: Term { kind: TermKind::Tuple(parts), .. } }
                    if targets.len() == parts.len() =>
                {
                    for (target, value) in targets.into_iter().zip(parts) {
                        match target {
                            Some(local) => binds.push(Bind { target: Target::Var(local), value }),
                            None => self.count(&value, Count::Fewer),
                        }
                    }
                }
                bind => binds.push(bind),
            }
        }
    }

    /// The scope of all bindings has been simplified already. A later binding stands in the scope of an earlier one.
    fn simplify_binds(&mut self, binds: &mut Vec<Bind>) {
        for bind in binds.iter_mut().rev() {
            if self.stays(bind) {
                self.simplify(&mut bind.value);
            } else {
                self.count(&bind.value, Count::Fewer);
            }
        }
        binds.retain_mut(|bind| self.stays(bind));
    }

    fn stays(&self, bind: &mut Bind) -> bool {
        self.is_needed(&mut bind.target) || !(self.may_go)(&bind.value)
    }

    /// Forgets the parts that are not used, and says whether anything is left.
    fn is_needed(&self, target: &mut Target) -> bool {
        match target {
            Target::Var(local) => self.is_used(*local),
            Target::Tuple(parts) | Target::Dup(parts) => {
                for part in parts.iter_mut() {
                    *part = part.filter(|&local| self.is_used(local));
                }
                parts.iter().any(Option::is_some)
            }
            Target::Link(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::source::program;

    /// How many bindings are left, and the names of what they bind.
    fn left(main: &str) -> Vec<String> {
        let mut program = program(&format!("(def f (x) x) (def main () {main})"));
        let main = program.def_named("main").expect("main");
        let def = &mut program.defs[main];
        simplify(def);
        let Body::Term(body) = &def.body else { panic!("a term") };
        let mut names = vec![];
        let mut todo = vec![body];
        while let Some(term) = todo.pop() {
            if let TermKind::Let(binds, _) = &term.kind {
                for Bind { target, .. } in binds {
                    match target {
                        Target::Var(local) => names.push(def.locals[*local].name.to_string()),
                        Target::Tuple(parts) | Target::Dup(parts) => {
                            let name =
                                |part: &Option<LocalId>| part.map_or("_".into(), |p| def.locals[p].name.to_string());
                            names.push(parts.iter().map(name).collect::<Vec<String>>().join(" "));
                        }
                        Target::Link(name) => names.push(format!("${name}")),
                    }
                }
            }
            todo.extend(term.children());
        }
        names
    }

    #[test]
    fn unused_bindings_go() {
        assert_eq!(left("(let a (f 1) (let b (f 2) b))"), ["b"]);
        assert_eq!(left("(let a (f 1) 2)"), [""; 0]);
        assert_eq!(left("(fn (x) (let a (f x) (tuple x x)))"), [""; 0]);
    }

    #[test]
    fn what_only_they_use_goes_too() {
        assert_eq!(left("(let a (f 1) (let b (f a) (let c (+ a b) 5)))"), [""; 0]);
        assert_eq!(left("(let a (f 1) (let b (let c (f a) (let d c 5)) (+ b 1)))"), ["b"]);
        assert_eq!(left("(let a (f 1) (+ (let b a 3) (let c a (+ c 1))))"), ["a", "c"]);
    }

    #[test]
    fn unused_parts_lose_their_variables() {
        assert_eq!(left("(let (a b c) (f 1) (+ a c))"), ["a _ c"]);
        assert_eq!(left("(let (a b) (f 1) 2)"), [""; 0]);
        assert_eq!(left("(dup (a b) (f 1) b)"), ["_ b"]);
        assert_eq!(left("(let (a b) (f 1) (let c (f b) a))"), ["a _"]);
    }

    #[test]
    fn tuples_that_are_taken_apart_at_once_are_not_made() {
        assert_eq!(left("(let (a b) (tuple (f 1) (f 2)) b)"), ["b"]);
        assert_eq!(left("(let (a b) (tuple (f 1) (tuple 2 3)) (+ a b))"), ["a", "b"]);
        assert_eq!(left("(let x (f 1) (let (a b) (tuple x 2) b))"), ["b"]);
        assert_eq!(left("(let (a b c) (tuple 1 (f 2)) b)"), ["_ b _"]);
    }

    #[test]
    fn long_chains_are_simplified_in_one_pass() {
        let binds: String = (1..20_000).map(|i| format!("(let x{i} (f x{})\n", i - 1)).collect();
        let main = format!("(let x0 1 {binds} 7 {}", ")".repeat(20_000));
        let deep = std::thread::Builder::new().stack_size(1 << 30).spawn(move || left(&main));
        assert_eq!(deep.expect("a thread").join().expect("no panic"), [""; 0]);
    }
}
