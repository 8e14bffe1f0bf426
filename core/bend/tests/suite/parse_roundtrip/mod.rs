//! What the printer prints, the parser reads back as the same tree, for random trees that have every kind of node.

mod common;
mod functional;
mod imperative;
mod items;
pub mod kinds;
pub mod tape;

use girih_base::diag::{Diagnostics, Style, render};
use girih_base::span::Sources;
use girih_bend::ast::Module;
use girih_bend::parser::{Dialect, parse_module};
use girih_bend::printer::print_module;
use kinds::no_counts;
use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::RefCell;
use tape::Maker;

/// Parses a text that must be right. Natural numbers and primitives are read in the prelude's dialect only.
pub fn parse(text: &str) -> Result<Module, String> {
    let mut sources = Sources::default();
    let source = sources.add("printed.bend", text);
    let mut diags = Diagnostics::default();
    let module = parse_module(source, text, Dialect::Prelude, &mut diags);
    let errors: Vec<String> = diags.iter().map(|found| render(found, &sources, Style::Plain)).collect();
    if errors.is_empty() { Ok(module) } else { Err(format!("{}\n{text}", errors.concat())) }
}

fn round_trip(module: &Module) -> Result<(), TestCaseError> {
    let text = print_module(module);
    let parsed = parse(&text).map_err(TestCaseError::fail)?;
    if parsed != *module {
        return Err(TestCaseError::fail(format!("the tree has changed:\n{text}\nwas {module:?}\nis  {parsed:?}")));
    }
    let again = print_module(&parsed);
    if again == text { Ok(()) } else { Err(TestCaseError::fail(format!("the text has changed:\n{text}\n{again}"))) }
}

#[test]
fn random_trees_survive_printing_and_parsing() {
    let config = Config { cases: 3000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let counts = RefCell::new(no_counts());
    let result = runner.run(&vec(0u32..1 << 16, 0..1500), |tape| {
        let mut maker = Maker::new(&tape, counts.take());
        let module = maker.module();
        counts.replace(maker.counts);
        round_trip(&module)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let never: Vec<_> = counts.take().into_iter().filter(|(_, count)| *count == 0).map(|(form, _)| form).collect();
    assert!(never.is_empty(), "these were never made: {never:?}");
}
