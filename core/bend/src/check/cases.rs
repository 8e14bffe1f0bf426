//! Types of `match` and `switch`, and of branches and elements that must have one type in common.

use super::annotation::Mode;
use super::infer::{Checked, Infer};
use super::type_errors::Why;
use super::types::{KindSet, Node, Ty, Types, wider};
use girih_term::{Arm, Match, Switch, Term, TermKind};

impl<'p> Infer<'p> {
    /// Types the scrutinee of a choice and what its arms bind, and returns the branches: in the order of the text, or,
    /// where `Any` is to be found as Bend finds it, in Bend's.
    pub fn branches(&mut self, term: &'p Term) -> Checked<Vec<&'p Term>> {
        let mut branches = match &term.kind {
            TermKind::Match(m) => self.match_branches(m)?,
            TermKind::Switch(s) => self.switch_branches(s)?,
            _ => vec![term],
        };
        match self.mode {
            Mode::Annotated => branches.sort_by_key(|branch| branch.span),
            Mode::Inferred => {}
        }
        Ok(branches)
    }

    /// Checks the branches of a choice: first those that are a mere variable. Where that is the state of a `fold` or `bend`
    /// and its first value is a literal, what is returned decides how many bits it has.
    pub fn check_branches(&mut self, term: &'p Term, expected: Ty, why: Why<'p>) -> Checked<()> {
        let branches = self.branches(term)?;
        let is_variable = |branch: &&&'p Term| matches!(branch.kind, TermKind::Local(_));
        branches.iter().filter(is_variable).try_for_each(|branch| self.check(branch, expected, why))?;
        branches.iter().filter(|b| !is_variable(b)).try_for_each(|branch| self.check(branch, expected, why))
    }

    fn match_branches(&mut self, m: &'p Match) -> Checked<Vec<&'p Term>> {
        let found = self.infer(&m.scrutinee)?;
        let arguments = self.types.fresh_many(self.program.types[m.ty].vars.len());
        let expected = self.types.data(m.ty, &arguments);
        self.coerce(&m.scrutinee, found, expected, Why::Matched(m.ty))?;
        for arm in &m.arms {
            self.bind_arm(m, arm, &arguments)?;
        }
        Ok(m.arms.iter().map(|arm| &arm.body).chain(&m.default).collect())
    }

    fn bind_arm(&mut self, m: &'p Match, arm: &'p Arm, arguments: &[Ty]) -> Checked<()> {
        let program = self.program;
        let infos = &program.ctors[arm.ctor].fields;
        let fields: Vec<Ty> = infos.iter().map(|info| self.types.import(&info.ty, arguments)).collect();
        for (local, ty) in arm.fields.iter().zip(&fields) {
            self.set_local(*local, *ty);
        }
        let Some(whole) = arm.whole else { return Ok(()) };
        let mut same = Ok(Types::ANY);
        let bound = self.set_generalised(whole, |infer| {
            let arguments = infer.types.fresh_many(arguments.len());
            for (info, field) in infos.iter().zip(&fields) {
                let own = infer.types.import(&info.ty, &arguments);
                same = same.and_then(|_| infer.types.unify(own, *field));
            }
            infer.types.data(m.ty, &arguments)
        });
        same.and(bound).map_err(|clash| self.clash(clash, m.scrutinee.span, "has"))
    }

    fn switch_branches(&mut self, s: &'p Switch) -> Checked<Vec<&'p Term>> {
        let found = self.infer(&s.scrutinee)?;
        let number = self.default_number(KindSet::UNSIGNED);
        self.coerce(&s.scrutinee, found, number, Why::Switched)?;
        if let Some(pred) = s.pred {
            self.set_local(pred, number);
        }
        Ok(s.cases.iter().rev().map(|(_, case)| case).chain([&s.default]).collect())
    }

    /// The type that several terms have in common; the first decides, except that 24-bit numbers among 32-bit ones of
    /// their family are widened.
    pub fn infer_joined(&mut self, terms: impl Iterator<Item = &'p Term>, is: &'static str) -> Checked<Ty> {
        let typed: Vec<(&'p Term, Ty)> = terms.map(|t| Ok((t, self.infer(t)?))).collect::<Checked<_>>()?;
        let Some(&(first, ty)) = typed.first() else { return Ok(self.types.fresh()) };
        let wide = self.wide_sibling(ty, &typed[1..]);
        let (mut joined, rest) = match wide {
            Some(wide) => (wide, &typed[..]),
            None => (ty, &typed[1..]),
        };
        for &(term, found) in rest {
            joined = self.coerce(term, found, joined, Why::Among { first, is })?;
        }
        Ok(joined)
    }

    /// The 32-bit kind of the family of a 24-bit type, if it or one of the others is to have 32 bits.
    pub fn wide_sibling(&mut self, ty: Ty, others: &[(&'p Term, Ty)]) -> Option<Ty> {
        let wide = Types::number(self.types.number_kind(ty).and_then(wider)?);
        let mut all = [ty].into_iter().chain(others.iter().map(|(_, other)| *other));
        all.any(|ty| match self.types.node(ty) {
            Node::Variable(known) => known.wide,
            _ => self.types.resolve(ty) == wide,
        })
        .then_some(wide)
    }
}
