//! The tests of which there is one for each file or for each device, in one program: `bend/` and the name of a program, `conform/` and what runs where.
//!
//! `cargo test --test cases bend/lists` runs those whose names hold these words.

mod bend;
mod conform;
#[path = "../support/mod.rs"]
mod support;

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    let trials = bend::trials().into_iter().chain(conform::trials()).collect();
    libtest_mimic::run(&arguments, trials).exit();
}
