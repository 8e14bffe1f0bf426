//! Random programs, run by the machine and by the plainest interpreter there can be: both must agree.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Limits, run_with};
use crate::code;
use crate::testing::random::random_program;
use crate::*;
use girih_base::diag::Code;
use girih_base::num::Num;

/// A value of the plain interpreter.
#[derive(Clone)]
enum Plain<'p> {
    Num(Num),
    Era,
    Ctor(CtorId, Vec<Plain<'p>>),
    Pair(Rc<(Plain<'p>, Plain<'p>)>),
    Closure(&'p [LocalId], &'p Term, Env<'p>),
    Partial(Rc<Plain<'p>>, Vec<Plain<'p>>),
    Global(DefId),
}

type Env<'p> = HashMap<LocalId, Plain<'p>>;

struct Interpreter<'p> {
    program: &'p Program,
}

impl<'p> Interpreter<'p> {
    /// What a definition without parameters stands for.
    fn force(&self, value: Plain<'p>) -> Result<Plain<'p>, Code> {
        match value {
            Plain::Global(def) if self.program.defs[def].params.is_empty() => {
                let value = self.body(def, &[])?;
                self.force(value)
            }
            value => Ok(value),
        }
    }

    fn body(&self, def: DefId, args: &[Plain<'p>]) -> Result<Plain<'p>, Code> {
        let Def { params, body: Body::Term(body), .. } = &self.program.defs[def] else { panic!("a term") };
        self.eval(body, &params.iter().copied().zip(args.iter().cloned()).collect())
    }

    fn evals(&self, terms: &'p [Term], env: &Env<'p>) -> Result<Vec<Plain<'p>>, Code> {
        terms.iter().map(|term| self.eval(term, env)).collect()
    }

    fn number(&self, term: &'p Term, env: &Env<'p>) -> Result<Option<Num>, Code> {
        let value = self.eval(term, env)?;
        self.as_number(value)
    }

    fn as_number(&self, value: Plain<'p>) -> Result<Option<Num>, Code> {
        match self.force(value)? {
            Plain::Num(number) => Ok(Some(number)),
            Plain::Era => Ok(None),
            _ => Err(Code::NotANumber),
        }
    }

    fn eval(&self, term: &'p Term, env: &Env<'p>) -> Result<Plain<'p>, Code> {
        match &term.kind {
            TermKind::Local(local) => Ok(env[local].clone()),
            TermKind::Global(def) => Ok(Plain::Global(*def)),
            TermKind::Num(number) => Ok(Plain::Num(*number)),
            TermKind::Era => Ok(Plain::Era),
            TermKind::Ctor(ctor, fields) => Ok(Plain::Ctor(*ctor, self.evals(fields, env)?)),
            TermKind::Tuple(parts) => {
                let mut parts = self.evals(parts, env)?;
                let last = parts.pop().expect("a tuple has parts");
                Ok(parts.into_iter().rev().fold(last, |rest, part| Plain::Pair(Rc::new((part, rest)))))
            }
            TermKind::Lambda(params, body) => Ok(Plain::Closure(params, body, env.clone())),
            TermKind::Apply(function, args) => {
                let function = self.eval(function, env)?;
                let args = self.evals(args, env)?;
                self.apply(function, args)
            }
            TermKind::Op(op, a, b) => {
                // Both operands are evaluated, and then looked at.
                let (a, b) = (self.eval(a, env)?, self.eval(b, env)?);
                let Some(a) = self.as_number(a)? else { return Ok(Plain::Era) };
                let Some(b) = self.as_number(b)? else { return Ok(Plain::Era) };
                Num::apply(*op, a, b).map(Plain::Num).map_err(|_| Code::DivisionByZero)
            }
            TermKind::Prim(prim, args) => match self.number(&args[0], env)? {
                Some(number) => Ok(Plain::Num(prim.apply(&[number]).expect("a conversion has a result"))),
                None => Ok(Plain::Era),
            },
            TermKind::Let(binds, body) => {
                let mut env = env.clone();
                for bind in binds {
                    self.bind(bind, &mut env)?;
                }
                self.eval(body, &env)
            }
            TermKind::Match(choice) => self.choose_ctor(choice, env),
            TermKind::Switch(choice) => {
                let Some(number) = self.number(&choice.scrutinee, env)? else { return Ok(Plain::Era) };
                let bits = number.bits();
                if let Some((_, body)) = choice.cases.iter().find(|(key, _)| *key == bits) {
                    return self.eval(body, env);
                }
                let largest = choice.cases.iter().map(|(key, _)| *key).max().expect("a case");
                let mut env = env.clone();
                if let Some(pred) = choice.pred {
                    env.insert(pred, Plain::Num(Num::u24(bits.wrapping_sub(largest + 1))));
                }
                self.eval(&choice.default, &env)
            }
            other => panic!("{other:?} is not generated"),
        }
    }

    fn bind(&self, bind: &'p Bind, env: &mut Env<'p>) -> Result<(), Code> {
        let value = self.eval(&bind.value, env)?;
        match &bind.target {
            Target::Var(local) => {
                env.insert(*local, value);
            }
            Target::Dup(copies) => copies.iter().flatten().for_each(|copy| {
                env.insert(*copy, value.clone());
            }),
            Target::Tuple(parts) => {
                let mut rest = value;
                for (i, part) in parts.iter().enumerate() {
                    let first = if i + 1 == parts.len() {
                        rest.clone()
                    } else {
                        let (first, second) = match self.force(rest)? {
                            Plain::Pair(pair) => (pair.0.clone(), pair.1.clone()),
                            Plain::Era => (Plain::Era, Plain::Era),
                            _ => return Err(Code::NotATuple),
                        };
                        rest = second;
                        first
                    };
                    part.iter().for_each(|part| {
                        env.insert(*part, first.clone());
                    });
                }
            }
            Target::Link(_) => panic!("it is not generated"),
        }
        Ok(())
    }

    fn choose_ctor(&self, choice: &'p Match, env: &Env<'p>) -> Result<Plain<'p>, Code> {
        let value = self.eval(&choice.scrutinee, env)?;
        match self.force(value)? {
            Plain::Ctor(ctor, fields) => match choice.arms.iter().find(|arm| arm.ctor == ctor) {
                Some(arm) => {
                    let mut env = env.clone();
                    arm.whole.iter().for_each(|whole| {
                        env.insert(*whole, Plain::Ctor(ctor, fields.clone()));
                    });
                    env.extend(arm.fields.iter().copied().zip(fields));
                    self.eval(&arm.body, &env)
                }
                None => self.eval(choice.default.as_ref().expect("a default"), env),
            },
            Plain::Era => Ok(Plain::Era),
            _ => Err(Code::NoMatchingCase),
        }
    }

    fn apply(&self, function: Plain<'p>, mut args: Vec<Plain<'p>>) -> Result<Plain<'p>, Code> {
        let function = self.force(function)?;
        let arity = match &function {
            Plain::Era => return Ok(Plain::Era),
            Plain::Closure(params, ..) => params.len(),
            Plain::Global(def) => self.program.defs[*def].params.len(),
            Plain::Partial(function, stored) => {
                let args = stored.iter().cloned().chain(args).collect();
                return self.apply((**function).clone(), args);
            }
            Plain::Num(_) | Plain::Pair(_) | Plain::Ctor(..) => return Err(Code::NotAFunction),
        };
        if args.len() < arity {
            return Ok(if args.is_empty() { function } else { Plain::Partial(Rc::new(function), args) });
        }
        let rest = args.split_off(arity);
        let result = match function {
            Plain::Closure(params, body, mut env) => {
                env.extend(params.iter().copied().zip(args));
                self.eval(body, &env)?
            }
            Plain::Global(def) => self.body(def, &args)?,
            _ => unreachable!("only functions have an arity"),
        };
        if rest.is_empty() { Ok(result) } else { self.apply(result, rest) }
    }

    fn show(&self, value: Plain<'p>) -> Result<String, Code> {
        Ok(match self.force(value)? {
            Plain::Num(number) => number.to_string(),
            Plain::Era => "*".to_string(),
            Plain::Ctor(ctor, fields) => {
                let name = self.program.ctors[ctor].name.to_string();
                let fields = fields.into_iter().map(|field| self.show(field)).collect::<Result<Vec<_>, _>>()?;
                if fields.is_empty() { name } else { format!("{name}({})", fields.join(", ")) }
            }
            Plain::Pair(pair) => format!("({}, {})", self.show(pair.0.clone())?, self.show(pair.1.clone())?),
            Plain::Closure(..) | Plain::Partial(..) | Plain::Global(_) => panic!("the result is data"),
        })
    }
}

#[test]
pub(crate) fn random_programs_give_what_the_plain_interpreter_gives() {
    let (mut values, mut errors) = (0, 0);
    for seed in 0..3000 {
        let program = random_program(seed);
        // The machine removes unused bindings first; then so does the interpreter.
        let mut simplified = program.clone();
        simplified.defs.iter_mut().for_each(simplify::simplify);
        let interpreter = Interpreter { program: &simplified };
        let entry = Plain::Global(program.entry.expect("an entry"));
        let expected = interpreter.show(entry);
        let code = code::Code::new(&program).expect("the program can be compiled");
        for stress in [false, true] {
            let found = run_with(&code, Limits { stress, ..Limits::default() });
            let found = found.map_err(|error| error.code);
            assert_eq!(found, expected, "seed {seed}, stress {stress}: {:#?}", simplified.defs);
        }
        match expected {
            Ok(_) => values += 1,
            Err(_) => errors += 1,
        }
    }
    assert!(values > 1500 && errors > 50, "{values} values and {errors} errors say little");
}
