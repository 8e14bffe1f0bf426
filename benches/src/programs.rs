//! The table of benchmark programs: Bend, the same job in C or Haskell, sizes, and known results.

use girih_bend::loader::{File, LoadError, Loader};

/// A program that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its name: `benches/bend/NAME.bend` or `benches/corpus/NAME.bend`.
    pub name: &'static str,
    /// What it does, in a few words; the size follows.
    pub title: &'static str,
    /// The program. Its argument is the size.
    pub bend: &'static str,
    /// The same job in C, by the same algorithm, if it has been written.
    pub c: Option<&'static str>,
    /// The same in Haskell: `benches/haskell/NAME.hs`.
    pub haskell: Option<&'static str>,
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

/// What the Haskell programs import.
pub const MODULE: (&str, &str) = ("Numbers.hs", include_str!("../haskell/Numbers.hs"));

const fn job(argument: u32, value: &'static str) -> Job {
    Job { argument, value }
}

// After the kind of its numbers stands the language in which a program has been written too, if there is one.
macro_rules! benchmarks {
    ($programs:ident in $folder:literal: $($name:literal $title:literal $kind:ident $(, $language:ident)?: $tiny:literal $a:literal, $upstream:literal $b:literal, $full:literal $c:literal;)*) => {
        /// All programs of a folder, in the order of the table.
        pub const $programs: &[Benchmark] = &[$(Benchmark {
            name: $name,
            title: $title,
            bend: include_str!(concat!("../", $folder, "/", $name, ".bend")),
            c: benchmarks!(@c $name $($language)?),
            haskell: benchmarks!(@haskell $name $($language)?),
            tiny: job($tiny, $a),
            upstream: job($upstream, $b),
            full: job($full, $c),
            floats: benchmarks!(@floats $kind),
        },)*];
    };
    (@c $name:literal c) => { Some(include_str!(concat!("../c/", $name, ".c"))) };
    (@c $name:literal $($other:ident)?) => { None };
    (@haskell $name:literal haskell) => { Some(include_str!(concat!("../haskell/", $name, ".hs"))) };
    (@haskell $name:literal $($other:ident)?) => { None };
    (@floats integers) => { false };
    (@floats floats) => { true };
}

benchmarks! {
    BENCHMARKS in "bend":
    "bitonic" "bitonic sort of a tree, depth" integers, c:
        10 "(1024, 14157760)", 14 "(16384, 11508544)", 20 "(1048576, 14311104)";
    "radix" "radix sort of a tree, depth" integers, c:
        10 "(1024, 15988336)", 15 "(32768, 10440494)", 17 "(131072, 13703724)";
    "sum" "recursive sum, depth" integers, c: 10 "3254867", 20 "10198203", 27 "350175";
    "tree_sum" "tree built and added up, depth" integers, c: 10 "523776", 20 "16252928", 22 "14680064";
    "mandelbrot" "Mandelbrot set, 256x256, steps" floats, c: 4 "194815", 32 "587923", 2000 "5610445";
    "nbody" "eight bodies, steps" floats, c: 20 "11450550", 5000 "10691802", 200_000 "14401997";
    "queens" "n queens, n" integers, c: 6 "4", 12 "14200", 14 "365596";
    "fib" "Fibonacci number by its definition, n" integers, c: 15 "610", 30 "832040", 38 "5533737";
    "life" "game of life on a quadtree, depth" integers, c: 3 "(19, 4451)", 6 "(811, 11930979)", 9 "(44404, 11596092)";
    "merge_sort" "merge sort of a list, length" integers, c: 100 "4227748", 50_000 "11776500", 500_000 "2109548";
    "expression" "expression tree, 32 times evaluated, depth" integers, c: 5 "276992", 14 "1937984", 18 "3586864";
    "lambdas" "composed functions, 32 times applied, depth" integers, c: 6 "15087361", 16 "11800577", 18 "14938113";
}

// The corpus: programs in the kinds of the suites of other parallel functional languages. They are written without a thought for what compiles well, and
// are not changed to suit. Those in Haskell are by the same algorithms, as people write them there.
benchmarks! {
    CORPUS in "corpus":
    "alpha_beta" "alpha-beta search, depth" integers:
        3 "-69", 8 "+50", 20 "+49";
    "barnes_hut" "forces by a quadtree, bodies" floats:
        10 "1520", 200 "356317", 20_000 "14077802";
    "binary_trees" "trees built and dropped, depth" integers, haskell:
        4 "([(4, 31)], 31)", 10 "([(4, 1984), (6, 2032), (8, 2044), (10, 2047)], 2047)", 20 "([(4, 2031616), (6, 2080768), (8, 2093056), (10, 2096128), (12, 2096896), (14, 2097088), (16, 2097136), (18, 2097148), (20, 2097151)], 2097151)";
    "church" "a function doubled, times" integers:
        2 "121", 8 "13200897", 22 "8388609";
    "closures" "functions composed in a tree, depth" integers:
        3 "1205", 10 "7160893", 20 "9536573";
    "coin_change" "ways to pay, amount" integers:
        20 "41", 150 "21422", 1000 "2456090";
    "collatz" "longest Collatz sequence, depth" integers:
        4 "(8, 19)", 10 "(870, 178)", 20 "(2918, 216)";
    "coprimes" "pairs without a common divisor, numbers" integers:
        10 "32", 200 "12232", 6000 "10943164";
    "deep_search" "greatest score by plain recursion, depth" integers:
        3 "174218", 12 "999704", 30 "1000002";
    "edit_distance" "edit distance by three calls, letters" integers:
        3 "5", 6 "8", 11 "12";
    "expression" "symbolic derivative, depth" integers, haskell:
        2 "(5, 0)", 6 "(379, 8661568)", 17 "(1924827, 0)";
    "factorial_digits" "factorial in digits, n" integers:
        10 "27", 100 "648", 3000 "37602";
    "fft" "fast Fourier transform in a tree, depth" floats:
        3 "2.047", 10 "309.992", 18 "79360.000";
    "fold_list" "list folded from its head, length" integers:
        10 "8907907", 5000 "7467107", 1_048_576 "2982750";
    "game_tree" "minimax that gives pairs, depth" integers, haskell:
        3 "(+37, 27)", 8 "(-37, 6561)", 15 "(+36, 14348907)";
    "hanoi" "towers of Hanoi, discs" integers:
        3 "5471", 10 "5165266", 20 "2250276";
    "heap_sort" "heapsort with a leftist heap, length" integers:
        50 "1624222", 2000 "8313353", 500_000 "15083282";
    "huffman" "Huffman code, symbols" integers:
        5 "118", 100 "30161", 8000 "4870370";
    "insertion_tree" "search tree filled one by one, numbers" integers:
        20 "7325573", 2000 "5657326", 500_000 "10964416";
    "integrate" "adaptive integration, depth" floats:
        4 "331120.000", 10 "330960.000", 24 "330960.000";
    "k_means" "k-means on a list, points" floats:
        20 "7457101", 500 "11141940", 300_000 "10013362";
    "karatsuba" "polynomials by three products, depth" integers, haskell:
        2 "9758", 6 "11521612", 12 "15061028";
    "knapsack" "knapsack by recursion, things" integers, haskell:
        6 "88", 16 "266", 28 "504";
    "lambda_calculus" "evaluator of the lambda calculus, n" integers, haskell:
        2 "8", 10 "1000", 120 "1728000";
    "longest_common" "longest common subsequence, symbols" integers, haskell:
        10 "6", 200 "170", 10_000 "9970";
    "machine" "interpreter of a stack machine, rounds" integers, haskell:
        20 "2870", 5000 "4562956", 3_000_000 "7498016";
    "matrix_eight" "matrix product by eight calls, depth" integers:
        1 "79", 4 "6656", 8 "1703936";
    "matrix_lists" "matrix product of lists, rows" integers:
        3 "3467261", 20 "16544000", 400 "4341760";
    "maze" "breadth-first search in a maze, rows" integers:
        5 "(9, 22)", 20 "(39, 337)", 500 "(999, 210001)";
    "monte_carlo" "random points in a circle, depth" integers:
        2 "307", 8 "20044", 18 "3838977";
    "parser" "expression written and parsed, depth" integers, haskell:
        2 "70", 6 "16601846", 18 "11735078";
    "patterns" "regular expressions by derivatives, depth" integers:
        3 "3", 7 "94", 18 "255379";
    "permutations" "permutations of a list, numbers" integers:
        4 "(9, 4)", 6 "(265, 10)", 9 "(133496, 30)";
    "queens_lists" "n queens as lists, n" integers, haskell:
        4 "(2, 4096)", 6 "(4, 5251072)", 10 "(724, 12980224)";
    "queens_ordered" "boards of n queens in order, n" integers:
        4 "0", 8 "16777206", 15 "1036";
    "quick_hull" "convex hull of a list, points" integers:
        10 "7", 500 "16", 1_000_000 "6";
    "quick_sort" "quicksort of a list, length" integers, haskell:
        50 "8322940", 2000 "7741991", 500_000 "4872594";
    "ray_tracer" "ray tracer of three balls, rows" floats:
        8 "378115", 64 "13709198", 1024 "3833161";
    "red_black" "red-black tree filled one by one, numbers" integers, haskell:
        20 "(20, 6)", 2000 "(1999, 16)", 500_000 "(450664, 26)";
    "report" "lines printed in order, depth" integers:
        2 "IO/Done(IO/MAGIC, 64)", 6 "IO/Done(IO/MAGIC, 7321)", 22 "IO/Done(IO/MAGIC, 1095816)";
    "rule_110" "automaton on a list, cells" integers:
        16 "13", 128 "77", 4000 "2378";
    "satisfiable" "assignments of a formula, variables" integers:
        4 "10", 10 "337", 20 "124585";
    "scan_tree" "prefix sums in a tree, depth" integers, haskell:
        4 "478016", 12 "16330064", 21 "15832992";
    "sieve" "primes by striking out of a list, numbers" integers, haskell:
        50 "15", 2000 "303", 1_000_000 "78498";
    "sort_lists" "many lists of 1,000 sorted, depth" integers:
        0 "3230618", 3 "13195296", 10 "9282622";
    "state_monad" "leaves numbered in a state monad, depth" integers, haskell:
        2 "(12, 4)", 8 "(4177920, 256)", 18 "(0, 262144)";
    "statistics" "least, greatest and mean in one pass, depth" floats:
        3 "(789.000, (9141.000, (4758.125, 3)))", 12 "(4.000, (10004.000, (5006.500, 2048)))", 22 "(0.000, (10006.000, (5002.250, 2097362)))";
    "stored_closures" "list of functions applied, functions" integers:
        5 "56", 100 "282528", 8000 "16453632";
    "strassen" "matrix product by seven calls, depth" integers:
        1 "1246", 4 "2199552", 7 "14680064";
    "subset_sum" "subsets of half the sum, numbers" integers:
        4 "2", 12 "58", 28 "2280164";
    "suffix_array" "suffixes in order, letters" integers:
        8 "11823962", 100 "456122", 100_000 "12588184";
    "tak" "Takeuchi's function, n" integers, haskell:
        6 "3", 12 "5", 30 "11";
    "tic_tac_toe" "all games after some squares are taken, squares" integers:
        5 "(0, (14, 4))", 2 "(2048, (756, 864))", 0 "(131184, (77904, 46080))";
    "tilings" "tilings by dominoes, columns" integers:
        2 "5", 5 "95", 16 "9475901";
    "two_calls" "two calls put together in order, n" integers:
        3 "8", 12 "228192", 40 "12848491";
    "walsh" "Walsh-Hadamard transform in a tree, depth" integers:
        3 "10800", 10 "11539968", 20 "15264000";
    "word_count" "words counted in a map, words" integers:
        20 "1", 2000 "5", 3_000_000 "3144";
}

/// The program of a name, in `benches/bend`.
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
