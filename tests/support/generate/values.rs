//! Expressions of random programs.

use super::types::{Meanings, Type, curried};
use super::{CHEAP, Expr, Maker, Pattern, ROUNDS, Var, call, word};

/// A way of calling a function: which one, with how many arguments, and what its type variables are.
struct Way {
    function: usize,
    arguments: Vec<Type>,
    meanings: Meanings,
    cost: usize,
}

impl Maker {
    pub fn value(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Expr {
        if self.random.chance(if depth == 0 { 80 } else { 40 })
            && let Some(var) = self.take(scope, |t| t == ty)
        {
            return word(var.name);
        }
        if depth > 0
            && self.random.chance(35)
            && let Some(call) = self.call(scope, ty, depth)
        {
            return call;
        }
        if depth > 0 && self.is_free() {
            if self.random.chance(15)
                && let Some(applied) = self.application(scope, ty, depth)
            {
                return applied;
            }
            if self.functional && self.random.chance(6) {
                return Expr::Inner(Box::new(self.body(scope.clone(), ty, 1)));
            }
            if !self.functional
                && self.random.chance(25)
                && let Some(map) = self.plain(scope, |t| matches!(t, Type::Map(value) if **value == *ty))
            {
                let key = self.value(scope, &Type::Num("u24"), depth - 1);
                return Expr::Get(map.name, Box::new(key));
            }
        }
        self.made(scope, ty, depth)
    }

    /// A call of an earlier function, if one gives the type and is cheap enough; perhaps with fewer arguments than it has
    /// parameters, or with more.
    fn call(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Option<Expr> {
        let ways: Vec<Way> = (0..self.functions.len()).filter_map(|function| self.way(function, ty)).collect();
        if ways.is_empty() {
            return None;
        }
        let Way { function, arguments: types, mut meanings, cost } = {
            let at = self.random.below(ways.len());
            ways.into_iter().nth(at)?
        };
        self.budget -= cost;
        let (name, recursive) = (self.functions[function].name.clone(), self.functions[function].recursive);
        let names: Vec<String> = self.functions[function].params.iter().map(|param| param.name.clone()).collect();
        let mut vars = vec![];
        types.iter().for_each(|ty| ty.vars(&mut vars));
        for var in vars {
            // What the result does not say is chosen.
            if meanings.iter().all(|(known, _)| *known != var) {
                let meaning = self.any_type(1);
                meanings.push((var, meaning));
            }
        }
        let mut arguments = vec![];
        for (i, param) in types.iter().enumerate() {
            let argument = if i == 0 && recursive {
                let number = self.value(scope, param, depth - 1);
                Expr::Op("%", Box::new(number), Box::new(word(ROUNDS.to_string())))
            } else {
                self.value(scope, &param.meaning(&meanings), depth - 1)
            };
            arguments.push(argument);
        }
        if arguments.is_empty() {
            return Some(word(name));
        }
        let can_name = self.functions[function].named && arguments.len() == names.len();
        if self.is_free() && !self.functional && can_name && self.random.chance(12) {
            let named = self.random.below(names.len());
            let last = arguments.split_off(named);
            return Some(Expr::CallNamed(name, arguments, names.into_iter().skip(named).zip(last).collect()));
        }
        Some(call(name, arguments))
    }

    /// A way in which a call of a function gives a type.
    fn way(&self, function: usize, ty: &Type) -> Option<Way> {
        let known = &self.functions[function];
        let params: Vec<Type> = known.params.iter().map(|param| param.ty.clone()).collect();
        let exact = params.len();
        if known.cost > self.budget {
            return None;
        }
        // The variables of the function that is being made have the same names as those of the ones it calls.
        let way = |arguments: &[Type], ret: &Type, cost: usize| {
            let mut meanings = vec![];
            let arguments = arguments.to_vec();
            ret.matches(ty, &mut meanings).then_some(Way { function, arguments, meanings, cost })
        };
        if let Some(way) = way(&params, &known.ret, known.cost) {
            return Some(way);
        }
        if self.limits.affine || known.cost > CHEAP {
            return None;
        }
        let mut more = params.clone();
        let mut ret = known.ret.clone();
        while let Type::Fun(param, then) = ret {
            more.push(*param);
            ret = *then;
            if let Some(way) = way(&more, &ret, known.cost) {
                return Some(way);
            }
        }
        let least = usize::from(known.recursive);
        (least..exact)
            .find_map(|count| way(&params[..count], &curried(&params[count..], known.ret.clone()), known.cost))
    }

    /// A variable that is a function, applied to some arguments.
    fn application(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Option<Expr> {
        let gives = |t: &Type| {
            let mut t = t;
            while let Type::Fun(_, ret) = t {
                if **ret == *ty {
                    return true;
                }
                t = ret;
            }
            false
        };
        let var = self.take(scope, gives)?;
        let mut arguments = vec![];
        let mut rest = var.ty;
        while rest != *ty || arguments.is_empty() {
            let Type::Fun(param, ret) = rest else { return None };
            arguments.push(self.value(scope, &param, depth - 1));
            rest = *ret;
        }
        Some(match arguments.pop() {
            // In two steps.
            Some(last) if !arguments.is_empty() && self.random.chance(25) => {
                Expr::Call(Box::new(call(var.name, arguments)), vec![last])
            }
            last => {
                arguments.extend(last);
                call(var.name, arguments)
            }
        })
    }

    /// A value that is built here.
    fn made(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Expr {
        let less = depth.saturating_sub(1);
        match ty {
            Type::Num(kind) => self.number(scope, kind, depth),
            Type::Str => word(self.text()),
            Type::None => word("*"),
            Type::Tuple(parts) => Expr::Tuple(parts.iter().map(|part| self.value(scope, part, less)).collect()),
            Type::List(element) => self.list(scope, element, depth),
            Type::Map(value) => self.map(scope, value, less),
            Type::Tree(value) => {
                let count = if depth == 0 || self.random.chance(40) { 1 } else { 2 };
                let part = if count == 1 { &**value } else { ty };
                Expr::Tree((0..count).map(|_| self.value(scope, part, less)).collect())
            }
            Type::Maybe(_) | Type::Try(_) | Type::Data(_) => self.constructor(scope, ty, depth),
            Type::Fun(..) => self.function_value(scope, ty, depth),
            Type::Var(_) => {
                let var = scope.iter().find(|var| var.ty == *ty).expect("a function has a parameter of each variable");
                word(&*var.name)
            }
        }
    }

    fn constructor(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Expr {
        let ctors = self.ctors(ty);
        let flat = |fields: &[(String, Option<Type>)]| fields.iter().all(|(_, ty)| ty.is_some());
        let i = if depth == 0 {
            ctors.iter().position(|(_, fields)| flat(fields)).unwrap_or(0)
        } else {
            self.random.below(ctors.len())
        };
        let (name, fields) = &ctors[i];
        let less = depth.saturating_sub(1);
        let values: Vec<Expr> =
            fields.iter().map(|(_, field)| self.value(scope, field.as_ref().unwrap_or(ty), less)).collect();
        if values.is_empty() {
            return word(&**name);
        }
        if self.is_free() && !self.functional && self.random.chance(15) {
            return Expr::Record(name.clone(), fields.iter().map(|(name, _)| name.clone()).zip(values).collect());
        }
        call(&**name, values)
    }

    fn list(&mut self, scope: &mut Vec<Var>, element: &Type, depth: usize) -> Expr {
        let less = depth.saturating_sub(1);
        if self.is_free() && !self.functional && depth > 0 && self.random.chance(25) {
            let from = self.any_type(0);
            let list = self.value(scope, &Type::List(Box::new(from.clone())), less);
            let var = Var { name: self.fresh("e"), ty: from };
            scope.push(var.clone());
            let budget = std::mem::replace(&mut self.budget, 0);
            let value = self.value(scope, element, less);
            let condition =
                if self.random.chance(40) { Some(self.value(scope, &Type::Num("u24"), less)) } else { None };
            self.budget = budget;
            scope.retain(|v| v.name != var.name);
            return Expr::Comprehension {
                element: Box::new(value),
                var: var.name,
                list: Box::new(list),
                condition: condition.map(Box::new),
            };
        }
        let length = if depth == 0 { self.random.below(2) } else { self.random.below(4) };
        Expr::List((0..length).map(|_| self.value(scope, element, less)).collect())
    }

    fn map(&mut self, scope: &mut Vec<Var>, value: &Type, depth: usize) -> Expr {
        let count = self.random.below(3);
        if self.functional {
            return (0..count).fold(word("Map/empty"), |map, _| {
                let key = word(self.random.below(9).to_string());
                call("Map/set", vec![map, key, self.value(scope, value, depth)])
            });
        }
        let entries = (0..count).map(|_| {
            let key = word(self.literal("u24"));
            (key, self.value(scope, value, depth))
        });
        Expr::Map(entries.collect())
    }

    /// A lambda, of all parameters at once or of the first.
    fn function_value(&mut self, scope: &mut Vec<Var>, ty: &Type, depth: usize) -> Expr {
        let before = scope.clone();
        let mut patterns = vec![];
        let mut rest = ty;
        while let Type::Fun(param, ret) = rest {
            let pattern = match &**param {
                Type::Tuple(parts) if self.functional && self.random.chance(50) => {
                    Pattern::Tuple(parts.iter().map(|part| self.argument(part, scope)).collect())
                }
                param => self.argument(param, scope),
            };
            patterns.push(pattern);
            rest = ret;
            if self.random.chance(40) {
                break;
            }
        }
        let budget = std::mem::replace(&mut self.budget, 0); // How often it is called is not known.
        let body = self.value(scope, rest, depth.saturating_sub(1));
        self.budget = budget;
        *scope = before;
        Expr::Lambda(patterns, Box::new(body))
    }

    fn argument(&mut self, ty: &Type, scope: &mut Vec<Var>) -> Pattern {
        let var = Var { name: self.fresh("a"), ty: ty.clone() };
        scope.push(var.clone());
        Pattern::Var(var.name)
    }

    pub fn text(&mut self) -> String {
        (*self.random.pick(&["\"\"", "\"a\"", "\"ab\"", "\"b a\"", "\"\\n\"", "\"abc\""])).to_owned()
    }

    // Numbers.

    fn number(&mut self, scope: &mut Vec<Var>, kind: &'static str, depth: usize) -> Expr {
        let ty = Type::Num(kind);
        if depth == 0 || self.random.chance(30) {
            return word(self.literal(kind));
        }
        let float = kind.starts_with('f');
        let unsigned = kind.starts_with('u');
        if kind == "u24" && self.random.chance(20) {
            let operands = self.number_type();
            let symbol = *self.random.pick(&["==", "!=", "<", ">", "<=", ">="]);
            return self.op(scope, symbol, &operands, depth);
        }
        if self.random.chance(10)
            && let Some(cast) = self.cast(scope, kind, depth)
        {
            return cast;
        }
        let symbols: &[&str] = match (float, unsigned) {
            (true, _) if self.is_free() => &["+", "-", "*", "/", "%", "**"],
            (true, _) => &["+", "-", "*", "/"],
            (false, true) => &["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"],
            (false, false) => &["+", "-", "*", "/", "%", "&", "|", "^"],
        };
        let symbol = *self.random.pick(symbols);
        if matches!(symbol, "/" | "%") && (self.limits.affine || self.random.chance(60)) {
            let left = self.value(scope, &ty, depth - 1);
            let divisor = loop {
                let literal = self.literal(kind);
                if literal.contains(|c: char| ('1'..='9').contains(&c)) {
                    break literal;
                }
            };
            return Expr::Op(symbol, Box::new(left), Box::new(word(divisor)));
        }
        self.op(scope, symbol, &ty, depth)
    }

    fn op(&mut self, scope: &mut Vec<Var>, symbol: &'static str, ty: &Type, depth: usize) -> Expr {
        let left = self.value(scope, ty, depth - 1);
        let right = self.value(scope, ty, depth - 1);
        Expr::Op(symbol, Box::new(left), Box::new(right))
    }

    fn cast(&mut self, scope: &mut Vec<Var>, kind: &'static str, depth: usize) -> Option<Expr> {
        let from = *self.random.pick(&["u24", "i24", "f24"]);
        if from == kind || !matches!(kind, "u24" | "i24" | "f24") {
            return None;
        }
        let value = self.value(scope, &Type::Num(from), depth - 1);
        Some(call(format!("{from}/to_{kind}"), vec![value]))
    }

    pub fn literal(&mut self, kind: &str) -> String {
        if self.is_free() && kind == "u24" && self.random.chance(12) {
            return (*self.random.pick(&["'a'", "'0'", "`x`", "`hi`", "`Ab9+`", "0x1f", "0b101"])).to_owned();
        }
        let small = self.random.chance(80);
        let whole = self.random.below(if small { 10 } else { 0x80_0000 });
        let sign = if self.random.chance(50) { "+" } else { "-" };
        match kind {
            "u24" => (whole * if small { 1 } else { 2 }).to_string(),
            "i24" => format!("{sign}{whole}"),
            "f24" => format!("{}{}.{}", sign.trim_start_matches('+'), whole % 1000, self.random.below(100)),
            "u32" => format!("{}u32", whole * if small { 1 } else { 511 }),
            "i32" => format!("{sign}{}i32", whole * if small { 1 } else { 255 }),
            _ => format!("{}{}.{}f32", sign.trim_start_matches('+'), whole, self.random.below(1000)),
        }
    }
}
