//! The commands of a session: the one table of them, and what each does.

use super::Repl;
use crate::console::Console;
use crate::device;
use girih::{Code, did_you_mean};
use serde_json::json;
use std::path::Path;

/// A command.
pub struct Command {
    /// Its name, with the colon.
    pub name: &'static str,
    /// What stands behind it.
    pub argument: &'static str,
    /// What it does.
    pub help: &'static str,
    run: fn(&mut Repl<'_>, &str) -> Next,
}

/// What comes after an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next input.
    Continue,
    /// Nothing: the session ends.
    End,
    /// The next input; this one had an error.
    Failed,
}

/// All commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: ":type",
        argument: "EXPRESSION",
        help: "the type of an expression, which is not computed",
        run: show_type,
    },
    Command { name: ":load", argument: "FILE", help: "takes the definitions of a file", run: load },
    Command {
        name: ":device",
        argument: "NAME",
        help: "where expressions are computed; without a name: says where",
        run: set_device,
    },
    Command { name: ":time", argument: "", help: "says how long each expression takes, or stops saying so", run: time },
    Command { name: ":help", argument: "", help: "lists this", run: help },
    Command { name: ":quit", argument: "", help: "ends the session, as Ctrl-D does", run: quit },
];

/// Does what a line says that begins with a colon.
pub fn command(repl: &mut Repl<'_>, line: &str) -> Next {
    let (name, argument) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        return (command.run)(repl, argument.trim());
    }
    let near = did_you_mean(name, COMMANDS.iter().map(|command| command.name));
    let hint = near.map_or("`:help` lists the commands".to_owned(), |near| format!("did you mean `{near}`?"));
    failed(repl.console, &format!("there is no command `{name}`"), &hint)
}

fn failed(console: &Console, message: &str, hint: &str) -> Next {
    console.fail(Code::BadArguments, message, Some(hint));
    Next::Failed
}

fn show_type(repl: &mut Repl<'_>, expression: &str) -> Next {
    if expression.is_empty() {
        return failed(repl.console, "`:type` needs an expression", "write it behind: `:type [1, 2]`");
    }
    let known = repl.session().type_of(expression);
    match known {
        Ok(ty) => {
            let ty = ty.unwrap_or_else(|| "Any".to_owned());
            repl.console.result(&ty, || json!({"kind": "type", "type": ty}));
            Next::Continue
        }
        Err(error) => repl.fail(error),
    }
}

fn load(repl: &mut Repl<'_>, file: &str) -> Next {
    if file.is_empty() {
        return failed(repl.console, "`:load` needs a file", "write it behind: `:load sort.bend`");
    }
    load_file(repl, Path::new(file))
}

/// Takes the definitions of a file.
pub(super) fn load_file(repl: &mut Repl<'_>, file: &Path) -> Next {
    let loaded = repl.session().load(file);
    match loaded {
        Ok(names) => repl.defined(&names),
        Err(error) => repl.fail(error),
    }
}

fn set_device(repl: &mut Repl<'_>, name: &str) -> Next {
    if !name.is_empty() {
        match device::parse(name) {
            Ok(device) => repl.device = device.for_programs(),
            Err(message) => return failed(repl.console, &message, "`girih devices` lists the devices"),
        }
    }
    repl.console.note(&format!("expressions are computed on {}", repl.device));
    Next::Continue
}

fn time(repl: &mut Repl<'_>, _argument: &str) -> Next {
    repl.shows_time = !repl.shows_time;
    repl.console.note(if repl.shows_time { "times are shown" } else { "times are not shown" });
    Next::Continue
}

fn help(repl: &mut Repl<'_>, _argument: &str) -> Next {
    let width = COMMANDS.iter().map(|command| command.name.len() + 1 + command.argument.len()).max().unwrap_or(0);
    for command in COMMANDS {
        let usage = format!("{} {}", command.name, command.argument);
        repl.console.result(
            &format!("{:width$}  {}", usage.trim_end(), command.help),
            || json!({"kind": "command", "name": command.name, "argument": command.argument, "help": command.help}),
        );
    }
    repl.console.note("`it` is the last value. A definition replaces an earlier one of the same name.");
    repl.console.note("An open bracket goes on on the next line; a `def` or `type` ends with an empty line.");
    Next::Continue
}

fn quit(_repl: &mut Repl<'_>, _argument: &str) -> Next {
    Next::End
}
