//! Values of first order as text.

use girih_core::diag::Diagnostic;
use girih_core::term::eval::{Machine, Root, Value, View};

/// A value as `girih run` prints it.
pub fn show(machine: &mut Machine, value: Value) -> Result<String, Diagnostic> {
    let root = machine.keep(value);
    let mut text = String::new();
    write(machine, &root, &mut text)?;
    Ok(text)
}

fn view(machine: &mut Machine, root: &Root) -> Result<View, Diagnostic> {
    let value = machine.value(root);
    let value = machine.force(value)?;
    Ok(machine.view(value))
}

fn write(machine: &mut Machine, root: &Root, text: &mut String) -> Result<(), Diagnostic> {
    let known = machine.code().program().known.clone();
    match view(machine, root)? {
        View::Num(number) => *text += &number.to_string(),
        View::Era => text.push('*'),
        View::Pair(first, second) => {
            let (first, second) = (machine.keep(first), machine.keep(second));
            text.push('(');
            write(machine, &first, text)?;
            *text += ", ";
            write(machine, &second, text)?;
            text.push(')');
        }
        View::Ctor(ctor, _) if Some(ctor) == known.list_cons || Some(ctor) == known.list_nil => {
            text.push('[');
            let mut rest = root.clone();
            let mut first = true;
            while let View::Ctor(_, fields) = view(machine, &rest)? {
                let [head, tail] = fields[..] else { break };
                let (head, tail) = (machine.keep(head), machine.keep(tail));
                *text += if first { "" } else { ", " };
                first = false;
                write(machine, &head, text)?;
                rest = tail;
            }
            text.push(']');
        }
        View::Ctor(ctor, _) if Some(ctor) == known.string_cons || Some(ctor) == known.string_nil => {
            let mut characters = String::new();
            let mut rest = root.clone();
            while let View::Ctor(_, fields) = view(machine, &rest)? {
                let [head, tail] = fields[..] else { break };
                let tail = machine.keep(tail);
                let head = machine.force(head)?;
                characters.extend(head.num().and_then(|n| char::from_u32(n.bits())));
                rest = tail;
            }
            *text += &format!("{characters:?}");
        }
        View::Ctor(ctor, fields) => {
            let fields: Vec<Root> = fields.into_iter().map(|field| machine.keep(field)).collect();
            *text += &machine.code().program().ctors[ctor].name.clone();
            if !fields.is_empty() {
                for (i, field) in fields.iter().enumerate() {
                    *text += if i == 0 { "(" } else { ", " };
                    write(machine, field, text)?;
                }
                text.push(')');
            }
        }
        View::Closure { .. } | View::Partial { .. } | View::Global(_) | View::Constructor(_) | View::Selector(_) => {
            *text += "λ…";
        }
    }
    Ok(())
}
