//! Runs a program natively on some threads, one by default.

fn main() {
    let mut words = std::env::args().skip(1);
    let program = girih::Program::open(words.next().expect("a program"), &girih::Options::default());
    let threads = words.next().map_or(Some(std::num::NonZeroUsize::MIN), |word| word.parse().ok());
    let options = girih::RunOptions { threads, count: true, ..girih::RunOptions::default() };
    match program.run(&mut girih::SystemHost::new(), &options) {
        Ok(outcome) => println!("{}\n{}", outcome.text, outcome.stats),
        Err(report) => eprintln!("{report}"),
    }
}
