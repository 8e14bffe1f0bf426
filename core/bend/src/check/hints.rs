//! What to do about types that do not fit, for the cases that are common.

use super::infer::Infer;
use super::show::Letters;
use super::type_errors::{self, Why};
use super::types::{Node, Ty, wider};
use crate::habits;
use girih_base::diag::Fix;
use girih_base::num::{BinOp, LiteralValue, Num, NumKind};
use girih_base::plural::counted;
use girih_term::{CtorId, Term, TermKind, TypeId};

/// What to do about an error, as a change of the text where it is one.
pub(super) struct Hint {
    pub text: String,
    pub fix: Option<Fix>,
}

impl From<String> for Hint {
    fn from(text: String) -> Hint {
        Hint { text, fix: None }
    }
}

/// A hint for a term of one type in the place of another.
pub(super) fn mismatch<'p>(
    infer: &mut Infer<'p>,
    term: &'p Term,
    found: Ty,
    expected: Ty,
    why: Why<'p>,
) -> Option<Hint> {
    if let (Some(from), Some(to)) = (infer.types.number_kind(found), infer.types.number_kind(expected)) {
        return numbers(infer, term, from, to, why);
    }
    missing_arguments(infer, term, expected)
        .or_else(|| too_few(infer, found, expected))
        .or_else(|| key_of_map(infer, why))
        .or_else(|| annotated(infer, found, expected, why))
        .or_else(|| character(infer, term, expected))
        .or_else(|| data(infer, found, expected))
        .or_else(|| tuples(infer, found, expected))
        .map(Hint::from)
}

/// A hint for an operand that is no number.
pub(super) fn operand<'p>(infer: &mut Infer<'p>, op: BinOp, operand: &'p Term, ty: Ty) -> Option<String> {
    let known = &infer.program.known;
    let (string, list) = (type_of(infer, known.string_cons), type_of(infer, known.list_cons));
    match infer.types.node(ty) {
        Node::Data(ty, _) if Some(ty) == string && matches!(op, BinOp::Eq | BinOp::Ne) => {
            Some("`String/equals` compares strings".to_string())
        }
        Node::Data(ty, _) if Some(ty) == list && op == BinOp::Add => {
            Some("lists are joined with `List/concat`".to_string())
        }
        Node::Data(ty, _) if Some(ty) == string && op == BinOp::Add => {
            Some("`String/concat(a, b)` joins two texts, `u24/to_string(n)` makes text of a number".to_string())
        }
        Node::Data(ty, _) if Some(ty) == string => Some(
            "text is made of characters: `match` takes it apart, `u24/to_string` makes text of a number".to_string(),
        ),
        Node::Rigid(id) => Some(match habits::hint(habits::TYPES, &infer.rigid_name(id)) {
            Some(hint) => format!("there is no such type: {hint}"),
            None => "annotate with a number type, such as `u24`, or with `_` to have the type inferred".to_string(),
        }),
        Node::Arrow(..) => missing_arguments(infer, operand, ty),
        _ => None,
    }
}

fn numbers(infer: &Infer, term: &Term, from: NumKind, to: NumKind, why: Why) -> Option<Hint> {
    if let TermKind::Literal(value) = term.kind {
        let convert = match why {
            // The literal of an operation may be meant, and what it is used with of the wrong type.
            Why::Operand { .. } if from.is_float() && !to.is_float() => {
                format!(", or convert the other operand with `{}/to_{}`", to.name(), from.name())
            }
            _ => String::new(),
        };
        if let Some(spelling) = respell(value, to) {
            let text = format!("write `{spelling}`{convert}");
            // Where the other operand may be the one to change, the text has two ways.
            let fix = convert.is_empty().then_some(Fix { span: term.span, text: spelling });
            return Some(Hint { text, fix });
        }
        if let (LiteralValue::Signed(_), NumKind::U24 | NumKind::U32) = (value, to) {
            let text = format!("`{}` has no negative numbers: annotate with `{}`", to.name(), from.name());
            return Some(Hint::from(text));
        }
    }
    if let Why::Operand { other, .. } = why
        && let TermKind::Literal(value) = other.kind
        && let Some(spelling) = respell(value, from)
    {
        let text = format!("write `{spelling}` for the other operand");
        return Some(Hint { text, fix: Some(Fix { span: other.span, text: spelling }) });
    }
    if let TermKind::Op(op, left, right) = &type_errors::blame(term).kind
        && let (TermKind::Literal(left), TermKind::Literal(right)) = (&left.kind, &right.kind)
        && let (Some(left), Some(right)) = (respell(*left, to), respell(*right, to))
    {
        // Converted afterwards, `1 / 2` would be 0.
        let text = format!("{left} {} {right}", op.symbol());
        return Some(Hint { fix: Some(Fix { span: term.span, text: text.clone() }), text: format!("write `{text}`") });
    }
    // Of an integer and a float the integer is to be converted, which loses nothing.
    let (target, from, to) = match why {
        Why::Operand { .. } if from.is_float() && !to.is_float() => ("the other operand", to, from),
        _ => ("it", from, to),
    };
    let conversion = format!("{}/to_{}", from.name(), to.name());
    let convert = infer.program.def_named(&conversion).map(|_| format!("convert {target} with `{conversion}`"));
    if wider(to) == Some(from) {
        let rule = format!("`{}` becomes `{}` automatically, but not the other way round", to.name(), from.name());
        return Some(Hint::from(convert.map_or(rule.clone(), |convert| format!("{convert}; {rule}"))));
    }
    convert.map(Hint::from)
}

/// A literal as a number of another family.
fn respell(value: LiteralValue, to: NumKind) -> Option<String> {
    match (value, to) {
        (LiteralValue::Unsigned(n), NumKind::F24 | NumKind::F32) => Some(format!("{n}.0")),
        (LiteralValue::Signed(n), NumKind::F24 | NumKind::F32) => Some(format!("{n:+}.0")),
        (LiteralValue::Unsigned(n), NumKind::I24 | NumKind::I32) => Some(format!("+{n}")),
        (LiteralValue::Signed(n), NumKind::U24 | NumKind::U32) if n >= 0 => Some(n.to_string()),
        (LiteralValue::Float(x), _) if x.fract() != 0.0 || x.abs() >= 8_388_608.0 => None,
        (LiteralValue::Float(x), NumKind::I24 | NumKind::I32) => Some(format!("{x:+}")),
        (LiteralValue::Float(x), NumKind::U24 | NumKind::U32) if x >= 0.0 => Some(x.to_string()),
        _ => None,
    }
}

/// A function where something else is needed has probably not got all its arguments.
fn missing_arguments<'p>(infer: &mut Infer<'p>, term: &'p Term, expected: Ty) -> Option<String> {
    let (head, given) = match &term.kind {
        TermKind::Apply(head, arguments) => (&**head, arguments.len()),
        _ => (term, 0),
    };
    let TermKind::Global(def) = head.kind else { return None };
    let def = &infer.program.defs[def];
    if def.origin.is_generated() {
        return None; // It has parameters that are not in the program.
    }
    let is_function = matches!(infer.types.node(expected), Node::Arrow(..));
    (given < def.params.len() && !(is_function && given == 0)).then(|| {
        let given = if given == 0 { "none".to_string() } else { given.to_string() };
        format!("`{}` takes {}, {given} given here", def.name, counted(def.params.len(), "argument"))
    })
}

/// What is called gives a function of the type that is expected.
fn too_few(infer: &mut Infer, found: Ty, expected: Ty) -> Option<String> {
    let (mut result, mut missing) = (found, 0);
    while let Node::Arrow(_, to) = infer.types.node(result) {
        (result, missing) = (to, missing + 1);
    }
    let is_same = match (infer.types.node(result), infer.types.node(expected)) {
        (Node::Data(a, _), Node::Data(b, _)) => a == b,
        _ => infer.types.number_kind(result).is_some() && infer.types.number_kind(expected).is_some(),
    };
    let verb = if missing == 1 { "is" } else { "are" };
    (missing > 0 && is_same)
        .then(|| format!("{} {verb} missing: with fewer it is a function", counted(missing, "argument")))
}

/// A character where text is needed. Of all numbers only a character is settled and as long in the text as this.
fn character(infer: &mut Infer, term: &Term, expected: Ty) -> Option<String> {
    let TermKind::Num(Num::U24(code)) = term.kind else { return None };
    let character = char::from_u32(code).filter(|c| !c.is_control() && !matches!(c, '"' | '\\'))?;
    let length = (term.span.end - term.span.start) as usize;
    let string = type_of(infer, infer.program.known.string_cons);
    let is_text = matches!(infer.types.node(expected), Node::Data(ty, _) if Some(ty) == string);
    (is_text && length == "''".len() + character.len_utf8())
        .then(|| format!("`'{character}'` is a character, and text stands in double quotes: `\"{character}\"`"))
}

fn data(infer: &mut Infer, found: Ty, expected: Ty) -> Option<String> {
    let named = |infer: &mut Infer, ty: Ty| match infer.types.node(ty) {
        Node::Data(id, _) => Some((id, infer.program.types[id].name.to_string())),
        _ => None,
    };
    let (from, to) = (named(infer, found), named(infer, expected));
    let name = |side: &Option<(TypeId, String)>| side.as_ref().map_or(String::new(), |(_, name)| name.clone());
    match (name(&from).as_str(), name(&to).as_str()) {
        ("IO", to) if to != "IO" => Some("run the step inside `with IO:` with `x <- …`".to_string()),
        (from, "IO") if from != "IO" => Some("`wrap(…)` inside `with IO:` makes an IO of a value".to_string()),
        ("List", "String") => Some("bytes become text with `String/decode_utf8`".to_string()),
        ("String", "List") => Some("text becomes bytes with `String/encode_utf8`".to_string()),
        ("List" | "String", "Map") => {
            Some("`x[key]` reads a map; `match` takes a list apart into `x.head` and `x.tail`, and a function that calls itself finds the nth element".to_string())
        }
        ("", "Map") if matches!(infer.types.node(found), Node::Tuple(_)) => {
            Some("`x[key]` reads a map; a tuple is taken apart by `(a, b) = x`".to_string())
        }
        ("String", "") if is_number(infer, expected) => {
            Some("text is no number, but its characters are: `match` takes it apart, and `'a'` is a character".to_string())
        }
        ("Tree", "") if is_number(infer, expected) => Some("`!x` makes a leaf of a tree: write `x == 0` for the opposite of a condition".to_string()),
        ("Maybe" | "Result", _) if to != from => {
            Some(format!("take it apart with `match`, or with `{}/unwrap`", name(&from)))
        }
        ("", "String") if infer.types.number_kind(found).is_some() => {
            Some("text is written in double quotes; `u24/to_string` makes text of a number".to_string())
        }
        ("", "Tree") => Some("`![a, b]` makes a node of a tree, `!x` a leaf".to_string()),
        _ => None,
    }
}

/// A function whose steps run gives an `IO`, which its annotation has to say.
fn annotated<'p>(infer: &mut Infer<'p>, found: Ty, expected: Ty, why: Why<'p>) -> Option<String> {
    let Why::Result(def) = why else { return None };
    let is_io = |infer: &mut Infer, ty| matches!(infer.types.node(ty), Node::Data(id, _) if infer.program.types[id].name == *"IO");
    if !is_io(infer, found) || is_io(infer, expected) {
        return None;
    }
    let result = infer.show(found, &mut Letters::Blank);
    Some(format!("`{}` runs steps, so it gives an `IO`: annotate it with `-> {result}`", infer.program.defs[def].name))
}

/// A hint for what is no number, but is the key of a map.
fn key_of_map<'p>(infer: &Infer<'p>, why: Why<'p>) -> Option<String> {
    let Why::Argument { head, index: 1 } = why else { return None };
    let TermKind::Global(def) = head.kind else { return None };
    let is_map = infer.program.defs[def].name.starts_with("Map/");
    is_map.then(|| "the keys of a map are numbers of the type `u24`; a `match` with `String/equals` finds a text in a list of pairs".to_string())
}

fn is_number(infer: &mut Infer, ty: Ty) -> bool {
    infer.types.number_kind(ty).is_some()
}

fn tuples(infer: &mut Infer, found: Ty, expected: Ty) -> Option<String> {
    match (infer.types.node(found), infer.types.node(expected)) {
        (Node::Tuple(a), Node::Tuple(b)) if a.len() != b.len() => {
            Some(format!("a tuple of {} is not one of {}", counted(a.len(), "part"), counted(b.len(), "part")))
        }
        (Node::None, _) => {
            Some("`*` is the only value of the type `None`: write a value of the type that is expected".to_string())
        }
        _ => None,
    }
}

fn type_of(infer: &Infer, ctor: Option<CtorId>) -> Option<TypeId> {
    ctor.map(|ctor| infer.program.ctors[ctor].ty)
}
