//! What checking a program costs, construct by construct, at three sizes of which each is twice the one before.
//!
//! `cargo bench -p girih-bench --bench check` prints a line for each construct of `constructs.rs`: the milliseconds of each size, errors drawn, and how many
//! times as long the largest takes as the one before. Two is linear, four is the square. Each time is the least of three.

mod constructs;

use girih::{Options, Program};
use std::time::Instant;

/// As the program has it.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many of a construct the smallest program has.
const SMALLEST: usize = 1000;

/// How often each program is checked.
const TIMES: usize = 3;

fn main() {
    for construct in constructs::ALL {
        let times = [1, 2, 4].map(|factor| milliseconds(&(construct.program)(SMALLEST * factor)));
        let [first, second, third] = times;
        println!("{:45} {first:8.1} {second:8.1} {third:8.1} ms   x{:.1}", construct.name, third / second);
    }
}

/// What it takes to check a program and to draw what is said about it.
fn milliseconds(program: &str) -> f64 {
    let once = || {
        let started = Instant::now();
        let text = Program::from_text("main.bend", program, &Options::default()).report().to_string();
        std::hint::black_box(text);
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..TIMES).map(|_| once()).fold(f64::INFINITY, f64::min)
}
