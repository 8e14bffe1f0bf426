//! What a kernel's parameters are, guessed from how the kernel uses them, from its launches in the same folder, and from their names.
//!
//! Invariant: a guess says what kind of thing a parameter is, never what the compiler can do with it; the same guesses are made for every kernel.

use crate::checkout::{Checkout, literal};
use crate::walk;
use girih_ir::Scalar;
use girih_triton::python::ast::{BinaryOp, CompareOp, Expr, ExprKind, FunctionDef, StmtKind, UnaryOp};
use girih_triton::{Argument, Constant};
use std::collections::{HashMap, HashSet};

/// One way to choose what the code leaves open.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The elements of arrays of numbers.
    pub float: Scalar,
    /// The elements of arrays of indices.
    pub index: Scalar,
    /// What parameters are that say whether something is done.
    pub flag: bool,
    /// The size of a block.
    pub block: i128,
}

/// All ways, in the order in which they are tried.
pub const CHOICES: &[Choice] = &[
    Choice { float: Scalar::F32, index: Scalar::I32, flag: false, block: 64 },
    Choice { float: Scalar::F16, index: Scalar::I64, flag: true, block: 64 },
    Choice { float: Scalar::F16, index: Scalar::I32, flag: false, block: 64 },
    Choice { float: Scalar::Bf16, index: Scalar::I32, flag: true, block: 32 },
    Choice { float: Scalar::F32, index: Scalar::I64, flag: true, block: 16 },
    Choice { float: Scalar::I32, index: Scalar::I32, flag: false, block: 64 },
    Choice { float: Scalar::I64, index: Scalar::I64, flag: false, block: 128 },
    Choice { float: Scalar::I8, index: Scalar::I32, flag: true, block: 32 },
    Choice { float: Scalar::U8, index: Scalar::I32, flag: false, block: 128 },
];

/// What the code of a kernel says of its parameters.
#[derive(Default)]
pub struct Uses {
    pointers: HashSet<String>,
    indices: HashSet<String>,
    /// The texts that parameters are compared with.
    texts: HashMap<String, Constant>,
    /// The numbers that parameters are said to be equal to: the code may have no other branch.
    numbers: HashMap<String, Constant>,
    /// How many elements the code takes from what is a tuple.
    tuples: HashMap<String, usize>,
    /// Arrays of addresses, of which pointers are made.
    tables: HashSet<String>,
    /// What is a condition by itself.
    conditions: HashSet<String>,
    types: HashSet<String>,
}

/// Operations whose first argument is an address.
const ADDRESSED: &[&str] = &["load", "store", "make_block_ptr", "make_tensor_descriptor"];
/// How many arrays a table of addresses is given.
const TABLE: usize = 3;
/// How deep helpers are looked into.
const DEPTH: usize = 4;

impl Uses {
    /// Reads a function, and the functions that it calls.
    pub fn of(def: &FunctionDef, checkout: &Checkout) -> Uses {
        Uses::within(def, checkout, DEPTH)
    }

    fn within(def: &FunctionDef, checkout: &Checkout, depth: usize) -> Uses {
        let mut uses = Uses::default();
        let (mut addresses, mut counted, mut taken) = (vec![], vec![], vec![]);
        walk::expressions(&def.body, &mut |e| match &e.kind {
            ExprKind::Call(callee, arguments) => {
                let name = last_name(callee).unwrap_or_default();
                let given = |at: usize, word: &str| {
                    let named = arguments.iter().find(|a| a.name.as_ref().is_some_and(|n| n.name == word));
                    named.or(arguments.get(at).filter(|a| a.name.is_none())).map(|a| &a.value)
                };
                if ADDRESSED.contains(&name) || name.starts_with("atomic_") {
                    addresses.extend(given(0, if name.starts_with("make") { "base" } else { "pointer" }));
                }
                if name == "range" {
                    counted.extend(arguments.iter().map(|a| &a.value));
                }
                let ty = if name == "to" { given(0, "dtype") } else { given(usize::MAX, "dtype") };
                uses.types.extend(ty.and_then(last_name).map(str::to_owned));
                if ty.is_some_and(is_pointer_type) || given(1, "dtype").is_some_and(is_pointer_type) {
                    taken.push(match &callee.kind {
                        ExprKind::Attribute(of, method) if method.name == "to" => &**of,
                        _cast => given(0, "input").unwrap_or(e),
                    });
                }
                if depth > 0
                    && let Some(helper) = checkout.functions.get(name)
                {
                    let inner = Uses::within(helper, checkout, depth - 1);
                    for (at, parameter) in helper.parameters.list.iter().enumerate() {
                        let Some(value) = given(at, &parameter.name.name) else { continue };
                        if let (Some(name), true) = (last_name(value), inner.tables.contains(&parameter.name.name)) {
                            uses.tables.insert(name.to_owned());
                        }
                        if inner.pointers.contains(&parameter.name.name) {
                            addresses.push(value);
                        }
                        if let (Some(name), Some(text)) = (last_name(value), inner.texts.get(&parameter.name.name)) {
                            uses.texts.entry(name.to_owned()).or_insert_with(|| text.clone());
                        }
                        if let (Some(name), true) = (last_name(value), inner.types.contains(&parameter.name.name)) {
                            uses.types.insert(name.to_owned());
                        }
                    }
                }
            }
            ExprKind::Subscript(of, at) => {
                if let (ExprKind::Name(name), ExprKind::Int(at)) = (&of.kind, &at.kind) {
                    let elements = uses.tuples.entry(name.clone()).or_default();
                    *elements = usize::try_from(*at).map_or(*elements, |at| (*elements).max(at + 1));
                }
            }
            // `p.dtype.element_ty`
            ExprKind::Attribute(of, name) if name.name == "element_ty" => addresses.push(of),
            ExprKind::Compare(first, others) => {
                for (_, other) in others {
                    if let (Some(name), Some(text @ Constant::Text(_))) = (last_name(first), literal(other)) {
                        uses.texts.entry(name.to_owned()).or_insert(text);
                    }
                }
                if let ([(CompareOp::Eq, other)], Some(name)) = (&others[..], last_name(first))
                    && let Some(number @ Constant::Int(_)) = literal(other)
                {
                    uses.numbers.entry(name.to_owned()).or_insert(number);
                }
            }
            ExprKind::Conditional(condition, ..) | ExprKind::Unary(UnaryOp::Not, condition) => {
                uses.conditions.extend(last_name(condition).map(str::to_owned));
            }
            ExprKind::Binary(
                BinaryOp::Mod | BinaryOp::And | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::FloorDiv,
                a,
                b,
            ) => {
                counted.extend([&**a, b]);
            }
            _other => {}
        });
        walk::statements(&def.body, &mut |statement| {
            if let StmtKind::If(condition, ..) = &statement.kind {
                uses.conditions.extend(last_name(condition).map(str::to_owned));
            }
        });
        let (assigned, changed) = (assignments(def, false), assignments(def, true));
        let parameters: HashSet<&str> = def.parameters.list.iter().map(|p| &*p.name.name).collect();
        for address in &addresses {
            uses.pointers.extend(Bases::of(address, &parameters, &assigned));
        }
        uses.tables.extend(indices(&taken, &changed, &parameters));
        let mut integers: Vec<&Expr> = addresses;
        integers.extend(counted);
        uses.indices = indices(&integers, &changed, &parameters);
        uses
    }

    /// What a parameter is given in one of the ways: itself, or its elements if it is a tuple.
    pub fn arguments(
        &self,
        name: &str,
        constexpr: bool,
        choice: Choice,
        launched: &[Constant],
    ) -> Vec<(String, Argument)> {
        let argument = self.argument(name, constexpr, choice, launched);
        match self.tuples.get(name) {
            Some(elements) if !constexpr => {
                (0..*elements).map(|at| (format!("{name}.{at}"), argument.clone())).collect()
            }
            _other if !constexpr && self.tables.contains(name) => {
                (0..TABLE).map(|at| (format!("{name}.{at}"), Argument::Buffer(choice.float))).collect()
            }
            _other => vec![(name.to_owned(), argument)],
        }
    }

    /// What a parameter is given, or each of its elements.
    fn argument(&self, name: &str, constexpr: bool, choice: Choice, launched: &[Constant]) -> Argument {
        if constexpr {
            return Argument::Constant(self.constant(name, choice, launched));
        }
        let lower = name.to_lowercase();
        if self.pointers.contains(name) || (looks_like_pointer(&lower) && !launched.iter().any(is_number)) {
            let is_index = self.indices.contains(name) || names_index(&lower);
            return Argument::Buffer(if is_index { choice.index } else { choice.float });
        }
        if let Some(Constant::Float(_)) = launched.first() {
            return Argument::Scalar(Scalar::F32, 0x3f00_0000);
        }
        if self.types.contains(name) || self.texts.contains_key(name) {
            return Argument::Constant(self.constant(name, choice, launched));
        }
        let is_float = FLOATS.iter().any(|word| lower.contains(word)) && !lower.contains("stride");
        if is_float { Argument::Scalar(Scalar::F32, 0x3f00_0000) } else { Argument::Scalar(Scalar::I32, 64) }
    }

    fn constant(&self, name: &str, choice: Choice, launched: &[Constant]) -> Constant {
        let upper = name.to_uppercase();
        let flags: Vec<&Constant> = launched.iter().filter(|c| matches!(c, Constant::Bool(_))).collect();
        let is_limit = upper.contains("MIN") || upper.contains("MAX");
        let is_type = self.types.contains(name) || (upper.contains("DTYPE") && !is_limit) || upper.ends_with("_TYPE");
        let is_flag = !is_type && (self.conditions.contains(name) || FLAGS.iter().any(|word| upper.starts_with(word)));
        if !flags.is_empty() || (is_flag && launched.is_empty()) {
            return Constant::Bool(choice.flag);
        }
        if let Some(value) = launched.iter().find(|value| **value != Constant::None) {
            return value.clone();
        }
        if let Some(text) = self.texts.get(name) {
            return text.clone();
        }
        if let Some(number) = self.numbers.get(name) {
            return number.clone();
        }
        if is_type {
            let name = match choice.float {
                Scalar::F16 => "tl.float16",
                Scalar::Bf16 => "tl.bfloat16",
                _other => "tl.float32",
            };
            return Constant::Text(name.into());
        }
        let is_size = ["BLOCK", "SIZE", "STRIDE", "DIM"].iter().any(|word| upper.contains(word));
        if upper.contains("EPS") || upper.contains("SCALE") && !is_size {
            return Constant::Float(0.5);
        }
        if upper.contains("NUM_STAGES") || upper.contains("NSTAGE") {
            return Constant::Int(2);
        }
        let is_count = ["NUM_", "N_", "HEADS", "GROUP", "STAGE", "WARPS", "SPLIT", "TOPK", "TOP_K", "ITER"];
        if is_count.iter().any(|word| upper.starts_with(word) || upper.contains(word)) && !upper.contains("BLOCK") {
            return Constant::Int(4);
        }
        if matches!(&*upper, "H" | "HQ" | "HV" | "G" | "NH" | "NS" | "NG" | "B") {
            return Constant::Int(4);
        }
        Constant::Int(choice.block)
    }
}

/// How parameters begin that say whether something is done.
const FLAGS: &[&str] = &[
    "HAS_",
    "USE_",
    "IS_",
    "STORE_",
    "WITH_",
    "ENABLE_",
    "DO_",
    "APPLY_",
    "ADD_",
    "CAUSAL",
    "REVERSE",
    "RETURN_",
    "SKIP_",
    "NORM_",
    "INPUT_",
    "OUTPUT_FINAL",
    "ALLOW_",
    "EVEN_",
    "NEED_",
    "SAVE_",
    "FUSE_",
    "WRITE_",
    "NEEDS_",
    "NO_",
    "KEEP_",
    "INPLACE",
    "BIAS",
    "MASKED",
    "TRAINING",
    "AFFINE",
    "UPCAST",
];
/// What the names of floats contain.
const FLOATS: &[&str] = &[
    "eps",
    "scale",
    "alpha",
    "beta",
    "lr",
    "dropout",
    "softcap",
    "theta",
    "factor",
    "lambda",
    "momentum",
    "decay",
    "softcapping",
    "p_drop",
    "smoothing",
    "threshold",
    "temperature",
    "value",
    "prob",
    "gamma",
    "slope",
    "rate",
];

fn looks_like_pointer(lower: &str) -> bool {
    ["_ptr", "ptr", "_ptrs", "_pointer", "_desc"].iter().any(|end| lower.ends_with(end)) || lower.starts_with("ptr_")
}

fn names_index(lower: &str) -> bool {
    const WORDS: &[&str] = &[
        "idx", "index", "indices", "seqlen", "cu_", "length", "_ids", "slot", "table", "mapping", "offsets", "label",
        "_loc",
    ];
    WORDS.iter().any(|word| lower.contains(word))
}

fn is_number(constant: &Constant) -> bool {
    matches!(constant, Constant::Int(_) | Constant::Float(_))
}

/// Whether an expression is `tl.pointer_type(..)`.
fn is_pointer_type(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Call(callee, _) if last_name(callee) == Some("pointer_type"))
}

/// The name that an expression ends in: `x` of `x`, `load` of `tl.load`.
fn last_name(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Attribute(_, name) => Some(&name.name),
        _other => None,
    }
}

/// What is assigned to each variable, and if asked what it is changed by, too.
fn assignments(def: &FunctionDef, changes: bool) -> HashMap<&str, Vec<&Expr>> {
    let mut assigned: HashMap<&str, Vec<&Expr>> = HashMap::new();
    walk::statements(&def.body, &mut |statement| match &statement.kind {
        StmtKind::Assign(targets, value) => {
            for target in targets {
                match (&target.kind, &value.kind) {
                    (ExprKind::Name(name), _) => assigned.entry(name).or_default().push(value),
                    (ExprKind::Tuple(names), ExprKind::Tuple(values)) => {
                        for (name, value) in names.iter().zip(values) {
                            if let ExprKind::Name(name) = &name.kind {
                                assigned.entry(name).or_default().push(value);
                            }
                        }
                    }
                    _other => {}
                }
            }
        }
        StmtKind::Annotated(target, _, Some(value)) => {
            if let ExprKind::Name(name) = &target.kind {
                assigned.entry(name).or_default().push(value);
            }
        }
        StmtKind::Augmented(target, _, value) if changes => {
            if let ExprKind::Name(name) = &target.kind {
                assigned.entry(name).or_default().push(value);
            }
        }
        _other => {}
    });
    assigned
}

/// What leads from an expression to the parameters that it counts from.
struct Bases<'a> {
    parameters: &'a HashSet<&'a str>,
    assigned: &'a HashMap<&'a str, Vec<&'a Expr>>,
    /// Variables that were looked at.
    seen: HashSet<&'a str>,
}

impl<'a> Bases<'a> {
    /// The parameters that an address counts from: of each sum the first term that leads to one, or the one that is called a pointer.
    fn of(e: &'a Expr, parameters: &'a HashSet<&'a str>, assigned: &'a HashMap<&'a str, Vec<&'a Expr>>) -> Vec<String> {
        Bases { parameters, assigned, seen: HashSet::new() }.walk(e)
    }

    fn walk(&mut self, e: &'a Expr) -> Vec<String> {
        match &e.kind {
            // A parameter that is changed on the way is still the parameter.
            ExprKind::Name(name) if self.parameters.contains(&**name) => vec![name.clone()],
            ExprKind::Name(name) if self.seen.insert(name) => {
                let values = self.assigned.get(&**name).into_iter().flatten();
                values.flat_map(|value| self.walk(value)).collect()
            }
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
                let (a, b) = (self.walk(a), self.walk(b));
                let called = |names: &[String]| names.iter().any(|name| looks_like_pointer(&name.to_lowercase()));
                if a.is_empty() || called(&b) && !called(&a) { b } else { a }
            }
            ExprKind::Call(callee, arguments) => match &callee.kind {
                ExprKind::Attribute(of, name) if name.name == "to" => self.walk(of),
                ExprKind::Attribute(_, name)
                    if matches!(&*name.name, "make_block_ptr" | "advance" | "multiple_of" | "cast") =>
                {
                    arguments.first().map(|a| self.walk(&a.value)).unwrap_or_default()
                }
                ExprKind::Attribute(_, name) if name.name == "where" => {
                    arguments.iter().skip(1).flat_map(|a| self.walk(&a.value)).collect()
                }
                _other => vec![],
            },
            ExprKind::Conditional(_, a, b) => {
                let mut found = self.walk(a);
                found.extend(self.walk(b));
                found
            }
            ExprKind::Attribute(of, _) | ExprKind::Subscript(of, _) => self.walk(of),
            _other => vec![],
        }
    }
}

/// The arrays whose elements are used as integers: in addresses, as bounds of loops, and in arithmetic that only integers have.
fn indices<'a>(
    integers: &[&'a Expr],
    assigned: &'a HashMap<&'a str, Vec<&'a Expr>>,
    parameters: &'a HashSet<&'a str>,
) -> HashSet<String> {
    let (mut found, mut seen) = (HashSet::new(), HashSet::new());
    let mut waiting: Vec<&'a Expr> = integers.to_vec();
    while let Some(e) = waiting.pop() {
        match &e.kind {
            ExprKind::Name(name) if seen.insert(name.as_str()) => {
                waiting.extend(assigned.get(&**name).into_iter().flatten());
            }
            ExprKind::Binary(_, a, b) => waiting.extend([&**a, b]),
            ExprKind::Subscript(of, _) | ExprKind::Unary(_, of) => waiting.push(of),
            ExprKind::Call(callee, arguments) => match last_name(callee) {
                Some("load") => {
                    let bases = arguments.first().map(|a| Bases::of(&a.value, parameters, assigned));
                    found.extend(bases.into_iter().flatten());
                }
                Some("to") => {
                    if let ExprKind::Attribute(of, _) = &callee.kind {
                        waiting.push(of);
                    }
                }
                Some("cast" | "minimum" | "maximum" | "min" | "max" | "cdiv" | "multiple_of") => {
                    waiting.extend(arguments.iter().map(|a| &a.value));
                }
                _other => {}
            },
            _other => {}
        }
    }
    found
}
