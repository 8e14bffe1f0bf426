//! Statements of random programs, or what stands for them in the functional syntax.

use super::functions::opens;
use super::types::{Type, curried};
use super::{Body, Expr, FOLDED, Head, Local, Maker, Pattern, Place, ROUNDS, Var, call, word};

/// How often a `bend` may call itself, more or less.
const BENT: usize = 8;

impl Maker {
    pub fn body(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize) -> Body {
        if depth == 0 {
            return Body::Return(self.value(&mut scope, ret, 2));
        }
        match self.random.below(if self.limits.affine { 8 } else { 18 }) {
            0 | 1 => {
                let var = Var { name: self.fresh("x"), ty: self.any_type(2) };
                let value = self.bound(&mut scope, &var.ty, depth - 1);
                scope.push(var.clone());
                Body::Let(var.name, Box::new(value), Box::new(self.body(scope, ret, depth - 1)))
            }
            2 => {
                let parts: Vec<Type> = (0..2 + self.random.below(2)).map(|_| self.any_type(1)).collect();
                let tuple = Type::Tuple(parts.clone());
                let value = self.value(&mut scope, &tuple, 2);
                let parts = parts.iter().map(|ty| self.part(ty, &mut scope)).collect();
                Body::Take(Pattern::Tuple(parts), value, Box::new(self.body(scope, ret, depth - 1)))
            }
            3 => {
                let count = 1 + if self.is_free() && self.random.chance(30) { 1 } else { 0 };
                let mut branches = vec![];
                for _ in 0..count {
                    let condition = self.value(&mut scope, &Type::Num("u24"), 2);
                    branches.push((condition, self.body(scope.clone(), ret, depth - 1)));
                }
                Body::If(branches, Box::new(self.body(scope, ret, depth - 1)))
            }
            4 => self.switch(scope, ret, depth),
            5 | 6 => self.choice(scope, ret, depth, false),
            7 => self.choice(scope, ret, depth, true),
            8 => self.bend(scope, ret, depth),
            9 => self.local(scope, ret, depth),
            10 => {
                let var = Var { name: self.fresh("u"), ty: self.any_type(2) };
                let value = self.value(&mut scope, &var.ty, 2);
                scope.push(var.clone());
                Body::Use(var.name, value, Box::new(self.body(scope, ret, depth - 1)))
            }
            11 => self.open(scope, ret, depth),
            12 | 13 if !self.functional => self.in_place(scope, ret, depth),
            14 => {
                let var = Var { name: String::new(), ty: self.any_type(2) };
                let value = self.value(&mut scope, &var.ty, 2);
                let copies: Vec<Var> = (0..2).map(|_| Var { name: self.fresh("c"), ..var.clone() }).collect();
                scope.extend(copies.iter().cloned());
                let names = copies.into_iter().map(|copy| copy.name).collect();
                Body::Take(Pattern::Copies(names), value, Box::new(self.body(scope, ret, depth - 1)))
            }
            _ => match ret {
                Type::Try(inner) => self.with(scope, inner, depth),
                _ => self.body(scope, ret, depth - 1),
            },
        }
    }

    /// A part of a tuple that is taken apart.
    fn part(&mut self, ty: &Type, scope: &mut Vec<Var>) -> Pattern {
        if self.is_free() {
            match ty {
                _ if self.random.chance(10) => return Pattern::Wild,
                Type::Tuple(parts) if self.random.chance(60) => {
                    return Pattern::Tuple(parts.iter().map(|part| self.part(part, scope)).collect());
                }
                _ => {}
            }
        }
        let var = Var { name: self.fresh("t"), ty: ty.clone() };
        scope.push(var.clone());
        Pattern::Var(var.name)
    }

    /// What is bound to a variable: a value, or now and then the outcome of a branch.
    fn bound(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Body {
        if self.random.chance(75) || depth == 0 {
            return Body::Return(self.value(scope, ty, 3));
        }
        if self.is_free() && self.random.chance(50) {
            return match (self.random.below(4), ty) {
                (_, Type::Try(inner)) => self.with(scope.clone(), inner, depth),
                (0, _) => self.bend(scope.clone(), ty, depth.min(2)),
                (1, _) => self.choice(scope.clone(), ty, depth.min(2), false),
                (2, _) => self.choice(scope.clone(), ty, depth.min(2), true),
                _ => self.switch(scope.clone(), ty, depth.min(2)),
            };
        }
        let condition = self.value(scope, &Type::Num("u24"), 2);
        let (mut then, mut other) = (scope.clone(), scope.clone());
        let yes = Body::Return(self.value(&mut then, ty, 2));
        let no = Body::Return(self.value(&mut other, ty, 2));
        scope.retain(|v| then.iter().any(|w| w.name == v.name) && other.iter().any(|w| w.name == v.name));
        Body::If(vec![(condition, yes)], Box::new(no))
    }

    /// What a choice is about: a variable, or a value that gets a name here.
    fn head(&mut self, scope: &mut Vec<Var>, fits: impl Fn(&Type) -> bool) -> Option<(Head, Type)> {
        if self.is_free() && self.random.chance(40) {
            let fitting: Vec<Type> = (0..4).map(|_| self.any_type(1)).filter(|ty| fits(ty)).collect();
            if let Some(ty) = fitting.into_iter().next() {
                let value = self.value(scope, &ty, 2);
                let var = Var { name: self.fresh("m"), ty: ty.clone() };
                scope.push(var.clone());
                return Some((Head { name: var.name, value: Some(value), with: vec![] }, ty));
            }
        }
        let var = self.take(scope, fits)?;
        Some((Head { name: var.name, value: None, with: vec![] }, var.ty))
    }

    /// Variables that go into the arms.
    fn with_variables(&mut self, head: &mut Head, scope: &mut Vec<Var>, chance: usize) -> Vec<Type> {
        let mut types = vec![];
        // Neither the name of the head nor those of the variables before are known in a value.
        let mut outer: Vec<Var> = scope.iter().filter(|var| var.name != head.name).cloned().collect();
        while self.is_free() && types.len() < 2 && self.random.chance(chance) {
            let known = if self.random.chance(40) { self.plain(&outer, |_| true) } else { None };
            let known =
                known.filter(|var| *var.name != head.name && head.with.iter().all(|(name, _)| *name != var.name));
            let (var, value) = match known {
                Some(var) => (var, None),
                None => {
                    let ty = self.any_type(1);
                    (Var { name: self.fresh("s"), ty: ty.clone() }, Some(self.value(&mut outer, &ty, 1)))
                }
            };
            types.push(var.ty.clone());
            head.with.push((var.name.clone(), value));
            scope.retain(|known| known.name != var.name);
            scope.push(var);
        }
        types
    }

    fn switch(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize) -> Body {
        let Some((mut head, _)) = self.head(&mut scope, |ty| *ty == Type::Num("u24")) else {
            return self.body(scope, ret, depth - 1);
        };
        self.with_variables(&mut head, &mut scope, 20);
        let count = 1 + self.random.below(3);
        let mut cases: Vec<Body> = (0..count).map(|_| self.body(scope.clone(), ret, depth - 1)).collect();
        scope.push(Var { name: format!("{}-{count}", head.name), ty: Type::Num("u24") });
        cases.push(self.body(scope, ret, depth - 1));
        Body::Switch(head, cases)
    }

    /// A `match` or a `fold`.
    fn choice(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize, fold: bool) -> Body {
        let splits = |ty: &Type| match ty {
            Type::Data(_) | Type::List(_) | Type::Str | Type::Tree(_) => true,
            Type::Maybe(_) | Type::Try(_) => !fold,
            _ => false,
        };
        let Some((mut head, ty)) = self.head(&mut scope, splits) else { return self.body(scope, ret, depth - 1) };
        if fold {
            // An arm runs once for every node, and may not use what is used up by running once.
            if self.limits.affine {
                scope.clear();
            }
            self.budget /= FOLDED;
        }
        let state = self.with_variables(&mut head, &mut scope, 20);
        let state = if fold { state } else { vec![] };
        let mut arms = vec![];
        let ctors = self.ctors(&ty);
        let count = ctors.len();
        for (position, (ctor, fields)) in ctors.into_iter().enumerate() {
            let mut scope = scope.clone();
            if fold && fields.iter().any(|(_, ty)| ty.is_none()) {
                // Where fields are folded, the folded variable is a value made of what they became.
                scope.retain(|v| v.name != head.name);
            }
            if self.is_free() && !fold && position > 0 && position + 1 == count && self.random.chance(15) {
                // All other constructors, of which no fields are known.
                let hidden = format!("{}.", head.name);
                scope.retain(|v| !v.name.starts_with(&hidden));
                let name = if self.random.chance(50) { "_".to_owned() } else { self.fresh("o") };
                if name != "_" {
                    scope.push(Var { name: name.clone(), ty: ty.clone() });
                }
                arms.push((name, self.body(scope, ret, depth - 1)));
                continue;
            }
            for (field, field_ty) in fields {
                let field_ty = match field_ty {
                    Some(ty) => ty,
                    None if fold => curried(&state, ret.clone()),
                    None => ty.clone(),
                };
                let field = Var { name: format!("{}.{field}", head.name), ty: field_ty };
                scope.retain(|v| v.name != field.name); // An outer choice of the same variable is hidden.
                scope.push(field);
            }
            arms.push((ctor, self.body(scope, ret, depth - 1)));
        }
        if fold {
            self.budget *= FOLDED;
            Body::Fold(head, arms)
        } else {
            Body::Match(head, arms)
        }
    }

    /// A `bend` with a counter that falls.
    fn bend(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize) -> Body {
        let counter = Var { name: self.fresh("i"), ty: Type::Num("u24") };
        let start = self.value(&mut scope, &counter.ty, 1);
        let start = Expr::Op("%", Box::new(start), Box::new(word((ROUNDS - 1).to_string())));
        let mut head = Head { name: counter.name.clone(), value: None, with: vec![] };
        let mut outer = scope.clone();
        let types = self.with_variables(&mut head, &mut outer, 50);
        scope = outer;
        let mut state = vec![(counter.name.clone(), Some(start))];
        state.append(&mut head.with);
        scope.push(counter.clone());
        self.budget /= BENT;
        let base = self.body(scope.clone(), ret, depth - 1);
        let mut results = vec![];
        for _ in 0..1 + usize::from(self.random.chance(30)) {
            let mut arguments = vec![Expr::Op("-", Box::new(word(&*counter.name)), Box::new(word("1")))];
            arguments.extend(types.iter().map(|ty| self.value(&mut scope, ty, 1)));
            results.push((Var { name: self.fresh("r"), ty: ret.clone() }, call("fork", arguments)));
        }
        scope.extend(results.iter().map(|(var, _)| var.clone()));
        let rest = self.body(scope, ret, depth - 1);
        self.budget *= BENT;
        let step = results
            .into_iter()
            .rev()
            .fold(rest, |rest, (var, value)| Body::Let(var.name, Box::new(Body::Return(value)), Box::new(rest)));
        let condition = match self.random.below(2) {
            0 => word(counter.name),
            _ => Expr::Op(">", Box::new(word(counter.name)), Box::new(word("0"))),
        };
        Body::Bend { state, condition, step: Box::new(step), base: Box::new(base) }
    }

    /// A function that is defined here, and may capture.
    fn local(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize) -> Body {
        let params: Vec<Var> =
            (0..1 + self.random.below(2)).map(|_| Var { name: self.fresh("l"), ty: self.any_type(1) }).collect();
        let result = self.any_type(1);
        let mut inner = scope.clone();
        inner.extend(params.iter().cloned());
        let budget = std::mem::replace(&mut self.budget, 0); // How often it is called is not known.
        let body = self.body(inner, &result, depth.min(2) - 1);
        self.budget = budget;
        let name = self.fresh("g");
        let types: Vec<Type> = params.iter().map(|param| param.ty.clone()).collect();
        scope.push(Var { name: name.clone(), ty: curried(&types, result.clone()) });
        let local = Local { name, params, ret: result, body };
        Body::Def(Box::new(local), Box::new(self.body(scope, ret, depth - 1)))
    }

    fn open(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize) -> Body {
        let types = std::mem::take(&mut self.types);
        let var = self.plain(&scope, |ty| opens(&types, ty));
        self.types = types;
        let Some(Var { name, ty: Type::Data(number) }) = var else { return self.body(scope, ret, depth - 1) };
        for (field, ty) in self.ctors(&Type::Data(number)).remove(0).1 {
            let field = Var { name: format!("{name}.{field}"), ty: ty.unwrap_or(Type::Data(number)) };
            scope.retain(|v| v.name != field.name);
            scope.push(field);
        }
        Body::Open(format!("D{number}"), name, Box::new(self.body(scope, ret, depth - 1)))
    }

    fn in_place(&mut self, mut scope: Vec<Var>, ret: &Type, depth: usize) -> Body {
        let is_slot = self.random.chance(50);
        let fits = |ty: &Type| if is_slot { matches!(ty, Type::Map(_)) } else { matches!(ty, Type::Num(_)) };
        let Some(var) = self.plain(&scope, fits) else { return self.body(scope, ret, depth - 1) };
        let (place, ty) = match var.ty {
            Type::Map(value) => (Place::Slot(var.name.clone(), self.value(&mut scope, &Type::Num("u24"), 1)), *value),
            ty => (Place::Variable(var.name.clone()), ty),
        };
        let (op, value) = match &ty {
            _ if is_slot && self.random.chance(40) => ("=", self.value(&mut scope, &ty, 2)),
            Type::Num(kind) if self.random.chance(70) => {
                let ops: &[&str] = if kind.starts_with('f') {
                    &["+=", "-=", "*=", "/="]
                } else {
                    &["+=", "-=", "*=", "&=", "|=", "^="]
                };
                (*self.random.pick(ops), self.value(&mut scope, &ty, 2))
            }
            _ => ("@=", self.value(&mut scope, &Type::Fun(Box::new(ty.clone()), Box::new(ty.clone())), 2)),
        };
        Body::InPlace(place, op, value, Box::new(self.body(scope, ret, depth - 1)))
    }

    /// Steps of the monad, the last of which gives a value of this type.
    fn with(&mut self, mut scope: Vec<Var>, inner: &Type, depth: usize) -> Body {
        let budget = std::mem::replace(&mut self.budget, 0); // The steps are functions.
        let mut asks = vec![];
        for _ in 0..1 + self.random.below(2) {
            let ty = self.any_type(1);
            let value = self.value(&mut scope, &Type::Try(Box::new(ty.clone())), depth.min(2));
            asks.push((self.part(&ty, &mut scope), value));
        }
        let last = if self.random.chance(60) {
            call("wrap", vec![self.value(&mut scope, inner, 2)])
        } else {
            self.value(&mut scope, &Type::Try(Box::new(inner.clone())), 2)
        };
        self.budget = budget;
        Body::With(asks, last)
    }
}
