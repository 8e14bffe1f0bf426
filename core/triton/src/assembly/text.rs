//! The text of PTX: comments, blocks, declarations and instructions.
//!
//! Invariant: an instruction keeps its text as it was written, so that a message can underline it.

/// What is wrong with assembly: the instruction, and why, as the end of a sentence.
#[derive(Debug)]
pub(super) struct Wrong<'t> {
    pub text: &'t str,
    pub why: String,
}

/// A statement.
#[derive(Debug)]
pub(super) enum Statement<'t> {
    /// `{`: what is declared from here on is known up to its end.
    Open,
    /// `}`.
    Close,
    /// `.reg .b32 a, b<4>;`
    Declare { text: &'t str, ty: &'t str, names: Vec<&'t str> },
    /// An instruction.
    Do(Instruction<'t>),
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand<'t> {
    /// A register, or a number that is written out.
    One(&'t str),
    /// `{a, b}`: registers side by side, the lowest bits first.
    Several(Vec<&'t str>),
}

/// An instruction.
#[derive(Debug)]
pub(super) struct Instruction<'t> {
    /// All of it.
    pub text: &'t str,
    /// The register that says where it is done, and the value that it must have.
    pub predicate: Option<(&'t str, bool)>,
    /// Its name up to the first dot.
    pub name: &'t str,
    /// What stands behind the dots.
    pub suffixes: Vec<&'t str>,
    pub operands: Vec<Operand<'t>>,
}

/// The text with spaces in the place of comments: what is left stands where it stood.
pub(super) fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = [rest.find("//"), rest.find("/*")].into_iter().flatten().min() {
        let (before, comment) = rest.split_at(at);
        out.push_str(before);
        let end = match comment.starts_with("//") {
            true => comment.find('\n').unwrap_or(comment.len()),
            false => comment.find("*/").map_or(comment.len(), |end| end + 2),
        };
        let (comment, behind) = comment.split_at(end);
        out.extend(comment.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// The statements of a text without comments.
pub(super) fn statements(text: &str) -> Result<Vec<Statement<'_>>, Wrong<'_>> {
    let mut found = vec![];
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '{' | '}' => {
                found.push(if first == '{' { Statement::Open } else { Statement::Close });
                1
            }
            ';' => 1,
            _statement => {
                let end = end_of(rest);
                found.push(statement(rest[..end].trim_end())?);
                end
            }
        };
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

/// Where a statement ends: before its `;`, or before the `}` of the block around it.
fn end_of(text: &str) -> usize {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            ';' => return at,
            '{' => inside = true,
            '}' if !inside => return at,
            '}' => inside = false,
            _others => {}
        }
    }
    text.len()
}

fn statement(text: &str) -> Result<Statement<'_>, Wrong<'_>> {
    let wrong = |why: &str| Err(Wrong { text, why: why.to_owned() });
    let (predicate, rest) = match text.strip_prefix('@') {
        Some(rest) => {
            let Some((register, rest)) = rest.split_once(char::is_whitespace) else {
                return wrong("an instruction is missing behind the predicate");
            };
            (Some((register.trim_start_matches('!'), !register.starts_with('!'))), rest.trim_start())
        }
        None => (None, text),
    };
    let (name, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.ends_with(':') {
        return wrong("a label is jumped to, and only straight-line code is known");
    }
    if name == ".reg" {
        let (ty, names) = operands.trim_start().split_once(char::is_whitespace).unwrap_or((operands, ""));
        let names = names.split(',').map(str::trim).collect();
        return Ok(Statement::Declare { text, ty: ty.trim_start_matches('.'), names });
    }
    if name.starts_with('.') {
        return wrong("of directives only `.reg` is known");
    }
    let mut parts = name.split('.');
    let name = parts.next().unwrap_or_default();
    let operands = match operands_of(operands) {
        Some(operands) => operands,
        None => return wrong("its operands cannot be read: are a comma or the `;` behind it missing?"),
    };
    Ok(Statement::Do(Instruction { text, predicate, name, suffixes: parts.collect(), operands }))
}

/// Operands between commas; those in braces belong together, and so do the two sides of `p|q`.
fn operands_of(text: &str) -> Option<Vec<Operand<'_>>> {
    let (mut found, mut rest) = (vec![], text.trim());
    while !rest.is_empty() {
        let (operand, behind) = match rest.strip_prefix('{') {
            Some(inside) => {
                let (inside, behind) = inside.split_once('}')?;
                (Operand::Several(inside.split(',').map(str::trim).collect()), behind.trim_start())
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let (one, behind) = rest.split_at(end);
                let one = one.trim();
                match one.split_once('|') {
                    Some((a, b)) => (Operand::Several(vec![a.trim(), b.trim()]), behind),
                    None => (Operand::One(one), behind),
                }
            }
        };
        let names = match &operand {
            Operand::One(name) => std::slice::from_ref(name),
            Operand::Several(names) => &names[..],
        };
        if names.iter().any(|name| name.is_empty() || name.contains(char::is_whitespace)) {
            return None;
        }
        found.push(operand);
        rest = match behind.strip_prefix(',') {
            Some(behind) => behind.trim_start(),
            None if behind.is_empty() => behind,
            None => return None,
        };
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blocks_are_read() {
        let text = without_comments(
            "{ // a block\n .reg .b8 t<2>, u; /* two */ mov.b32 {t0, _}, $1;\n} setp.lt.f32 p|q, $2, 1.; @!p add.f32 $0, $0, $1",
        );
        let found = statements(&text).expect("it can be read");
        let shown: Vec<String> = found
            .iter()
            .map(|statement| match statement {
                Statement::Open => "{".into(),
                Statement::Close => "}".into(),
                Statement::Declare { ty, names, .. } => format!("{ty} {names:?}"),
                Statement::Do(done) => {
                    format!("{:?} {} {:?} {:?}", done.predicate, done.name, done.suffixes, done.operands)
                }
            })
            .collect();
        assert_eq!(
            shown,
            [
                "{",
                "b8 [\"t<2>\", \"u\"]",
                "None mov [\"b32\"] [Several([\"t0\", \"_\"]), One(\"$1\")]",
                "}",
                "None setp [\"lt\", \"f32\"] [Several([\"p\", \"q\"]), One(\"$2\"), One(\"1.\")]",
                "Some((\"p\", false)) add [\"f32\"] [One(\"$0\"), One(\"$0\"), One(\"$1\")]",
            ]
        );
        assert!(statements("add.f32 $0, $1 mul.f32 $0, $0, $0;").is_err_and(|wrong| wrong.why.contains("missing")));
        assert!(statements("L: add.f32 $0, $1, $2;").is_err_and(|wrong| wrong.why.contains("label")));
    }
}
