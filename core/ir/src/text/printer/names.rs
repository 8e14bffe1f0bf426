//! Which name a value is printed with.
//!
//! Invariant: a name has one meaning wherever it is visible, as the parser asks for. Values without a name get numbers in the order of the
//! text. Where a name is visible already, the new value gets a number behind it: `%x.1`.

use super::is_number;
use crate::function::{Function, Module, ValueId};
use crate::text::words::quoted;
use girih_base::idx::IndexVec;
use girih_base::name::Name;
use std::collections::{HashMap, HashSet};

/// The names of a function's values, as far as they have been printed.
#[derive(Debug)]
pub struct Names {
    given: IndexVec<ValueId, Option<String>>,
    used: IndexVec<ValueId, bool>,
    visible: HashSet<String>,
    order: Vec<String>,
    suffixes: HashMap<String, u32>,
    numbers: u32,
}

impl Names {
    /// No names yet.
    pub fn new(function: &Function) -> Names {
        let mut used: IndexVec<ValueId, bool> = function.values.iter().map(|_| false).collect();
        let mut regions = vec![function.body];
        regions.extend(function.launch.as_ref().and_then(|l| l.prologue));
        for region in regions {
            function.walk(region, &mut |_, inst| {
                for value in &inst.operands {
                    if used.get(*value).is_some() {
                        used[*value] = true;
                    }
                }
            });
        }
        function.memories.iter().for_each(|m| used[m.length] = true);
        Names {
            given: function.values.iter().map(|_| None).collect(),
            used,
            visible: HashSet::new(),
            order: vec![],
            suffixes: HashMap::new(),
            numbers: 0,
        }
    }

    /// Whether an instruction has the value as an operand.
    pub fn is_used(&self, value: ValueId) -> bool {
        self.used[value]
    }
    /// Whether the value has got a name.
    pub fn is_named(&self, value: ValueId) -> bool {
        self.given[value].is_some()
    }
    /// Gives a value its name, which is visible from now on; with `%`.
    pub fn define(&mut self, function: &Function, value: ValueId) -> String {
        let name = match name_of(function, value) {
            None => {
                self.numbers += 1;
                (self.numbers - 1).to_string()
            }
            Some(name) if !self.visible.contains(name) => name.to_string(),
            Some(name) => self.fresh(name),
        };
        let text = format!("%{}", quoted(&name));
        self.show(name);
        self.given[value] = Some(text.clone());
        text
    }
    fn fresh(&mut self, name: &str) -> String {
        let next = self.suffixes.entry(name.to_string()).or_insert(0);
        loop {
            *next += 1;
            let candidate = format!("{name}.{next}");
            if !self.visible.contains(&candidate) {
                return candidate;
            }
        }
    }
    fn show(&mut self, name: String) {
        self.order.push(name.clone());
        self.visible.insert(name);
    }
    /// The name of a value, with `%`. A value that is used but not defined gets a name that no text defines.
    pub fn of(&self, value: ValueId) -> String {
        self.given[value].clone().unwrap_or_else(|| format!("%undefined.{}", value.index()))
    }

    /// The start of a region, to be given to [`leave`](Self::leave).
    pub fn enter(&self) -> usize {
        self.order.len()
    }
    /// Makes the names of a region invisible; gives them, so that they can be shown again.
    pub fn leave(&mut self, start: usize) -> Vec<String> {
        let names = self.order.split_off(start);
        for name in &names {
            self.visible.remove(name);
        }
        names
    }
    /// Makes names visible again.
    pub fn show_again(&mut self, names: Vec<String>) {
        names.into_iter().for_each(|name| self.show(name));
    }
}

/// The name that a value asks for, if it does.
pub fn name_of(function: &Function, value: ValueId) -> Option<&str> {
    function.values[value].name.as_deref().filter(|name| !is_number(name))
}

/// Names for what a module holds, different in each table.
#[derive(Debug)]
pub struct ItemNames {
    /// Of functions and kernels.
    pub functions: Vec<String>,
    /// Of layouts.
    pub layouts: Vec<String>,
    /// Of globals.
    pub globals: Vec<String>,
}

impl ItemNames {
    /// The names that a module is printed with.
    pub fn new(module: &Module) -> ItemNames {
        ItemNames {
            functions: different(module.functions.iter().map(|f| &f.name)),
            layouts: different(module.layouts.iter().map(|l| &l.name)),
            globals: different(module.globals.iter().map(|g| &g.name)),
        }
    }
}

/// Names, each with a number behind it if it has stood before.
fn different<'a>(asked: impl Iterator<Item = &'a Name>) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut names = vec![];
    for original in asked {
        let mut name = original.to_string();
        let mut n = 0;
        while taken.contains(&name) {
            n += 1;
            name = format!("{original}.{n}");
        }
        taken.insert(name.clone());
        names.push(name);
    }
    names
}
