//! Types as people write them: in messages, and in what a hint proposes.

use girih_base::num::NumKind;
use girih_term::Program;
use girih_term::ty::Type;

/// A Rust type without the modules that it and its parts are in.
pub(crate) fn rust_name<T>() -> String {
    short(std::any::type_name::<T>())
}

fn short(full: &str) -> String {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut out = String::new();
    let mut rest = full;
    while let Some(first) = rest.chars().next() {
        let length =
            rest.find(|c| !is_path(c)).unwrap_or(rest.len()).max(if is_path(first) { 0 } else { first.len_utf8() });
        let (word, after) = rest.split_at(length);
        out.push_str(if is_path(first) { word.rsplit("::").next().unwrap_or(word) } else { word });
        rest = after;
    }
    out
}

/// The Rust type that stands for a Bend type; `_` where several can.
pub(crate) fn rust_for(program: &Program, ty: &Type) -> String {
    let all = |types: &[Type]| types.iter().map(|ty| rust_for(program, ty)).collect::<Vec<_>>().join(", ");
    match ty {
        Type::Num(NumKind::U24 | NumKind::U32) => "u32".to_owned(),
        Type::Num(NumKind::I24 | NumKind::I32) => "i32".to_owned(),
        Type::Num(NumKind::F24 | NumKind::F32) => "f32".to_owned(),
        Type::None => "()".to_owned(),
        Type::Tuple(parts) => format!("({})", all(parts)),
        Type::Data(id, arguments) => {
            let name = match program.types[*id].name.as_str() {
                "List" => "Vec",
                "Maybe" => "Option",
                "IO" => return all(arguments),
                other => other.rsplit('/').next().unwrap_or(other),
            };
            if arguments.is_empty() { name.to_owned() } else { format!("{name}<{}>", all(arguments)) }
        }
        Type::Any | Type::Hole | Type::Param(_) | Type::Var(_) | Type::Arrow(..) => "_".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_modules() {
        assert_eq!(
            rust_name::<(Vec<Option<u32>>, std::collections::BTreeMap<String, ()>)>(),
            "(Vec<Option<u32>>, BTreeMap<String, ()>)"
        );
        assert_eq!(short("a::b<&'static c::d, [x::é; 3]>"), "b<&'static d, [é; 3]>");
    }
}
