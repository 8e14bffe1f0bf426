//! The table of benchmark programs: Bend, the same job in C, sizes, and known results.

use girih_bend::loader::{File, LoadError, Loader};

/// A program that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its name: `benches/bend/NAME.bend`.
    pub name: &'static str,
    /// What it does, in a few words; the size follows.
    pub title: &'static str,
    /// The program. Its argument is the size.
    pub bend: &'static str,
    /// The same job in C, by the same algorithm.
    pub c: &'static str,
    /// Small enough for the slowest evaluator.
    pub tiny: Job,
    /// What upstream's runtime takes seconds for.
    pub upstream: Job,
    /// What C takes some tenths of a second for.
    pub full: Job,
    /// Whether it computes with floats, which upstream's runtimes round in their own ways.
    pub floats: bool,
}

/// A size and what must come out.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The program's argument.
    pub argument: u32,
    /// What it prints.
    pub value: &'static str,
}

/// A program that imports all the others: the value of each at its smallest size.
pub const TOGETHER: &str = include_str!("../bend/suite.bend");

/// What the C programs include.
pub const HEADER: (&str, &str) = ("numbers.h", include_str!("../c/numbers.h"));

const fn job(argument: u32, value: &'static str) -> Job {
    Job { argument, value }
}

macro_rules! benchmarks {
    ($($name:literal $title:literal $kind:ident: $tiny:literal $a:literal, $upstream:literal $b:literal, $full:literal $c:literal;)*) => {
        /// All programs, in the order of the table.
        pub const BENCHMARKS: &[Benchmark] = &[$(Benchmark {
            name: $name,
            title: $title,
            bend: include_str!(concat!("../bend/", $name, ".bend")),
            c: include_str!(concat!("../c/", $name, ".c")),
            tiny: job($tiny, $a),
            upstream: job($upstream, $b),
            full: job($full, $c),
            floats: benchmarks!(@floats $kind),
        },)*];
    };
    (@floats integers) => { false };
    (@floats floats) => { true };
}

benchmarks! {
    "bitonic" "bitonic sort of a tree, depth" integers:
        10 "(1024, 14157760)", 14 "(16384, 11508544)", 20 "(1048576, 14311104)";
    "radix" "radix sort of a tree, depth" integers:
        10 "(1024, 15988336)", 15 "(32768, 10440494)", 17 "(131072, 13703724)";
    "sum" "recursive sum, depth" integers: 10 "3254867", 20 "10198203", 27 "350175";
    "tree_sum" "tree built and added up, depth" integers: 10 "523776", 20 "16252928", 22 "14680064";
    "mandelbrot" "Mandelbrot set, 256x256, steps" floats: 4 "194815", 32 "587923", 2000 "5610445";
    "nbody" "eight bodies, steps" floats: 20 "11450550", 5000 "10691802", 200_000 "14401997";
    "queens" "n queens, n" integers: 6 "4", 12 "14200", 14 "365596";
    "fib" "Fibonacci number by its definition, n" integers: 15 "610", 30 "832040", 38 "5533737";
    "life" "game of life on a quadtree, depth" integers: 3 "(19, 4451)", 6 "(811, 11930979)", 9 "(44404, 11596092)";
    "merge_sort" "merge sort of a list, length" integers: 100 "4227748", 50_000 "11776500", 500_000 "2109548";
    "expression" "expression tree, 32 times evaluated, depth" integers: 5 "276992", 14 "1937984", 18 "3586864";
    "lambdas" "composed functions, 32 times applied, depth" integers: 6 "15087361", 16 "11800577", 18 "14938113";
}

/// The program of a name.
pub fn find(name: &str) -> Option<&'static Benchmark> {
    BENCHMARKS.iter().find(|benchmark| benchmark.name == name)
}

/// Loads [`TOGETHER`] and what it imports.
#[derive(Clone, Copy, Debug)]
pub struct Shelf;

impl Loader for Shelf {
    fn main(&self) -> Result<File, LoadError> {
        Ok(File { name: "suite.bend".to_owned(), text: TOGETHER.to_owned() })
    }

    fn file(&self, path: &str) -> Result<Option<File>, LoadError> {
        let text = |b: &Benchmark| File { name: format!("{}.bend", b.name), text: b.bend.to_owned() };
        Ok(find(path).map(text))
    }

    fn folder(&self, _path: &str) -> Option<Vec<String>> {
        None
    }
}

/// How many lines [`TOGETHER`] and what it imports have.
pub fn lines() -> usize {
    BENCHMARKS.iter().map(|b| b.bend).chain([TOGETHER]).map(|text| text.lines().count()).sum()
}
