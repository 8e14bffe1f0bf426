//! How many of the Triton kernels in folders of Python files compile, and why the others do not.
//!
//! `cargo run --release -p girih-triton --example survey -- FOLDER.. [--json] [--front]` finds the kernels of each folder, guesses their arguments, compiles
//! them for the processor, for CUDA and for Vulkan without a device as `girih check` does, and prints a table of reasons with the place of one sample for each.
//! With `--front` it only asks the front end, which takes a fraction of the time: a kernel that the front end takes counts for every device then.
//!
//! Invariant: each kernel counts once; a kernel whose file cannot be read counts among those that are refused.

mod checkout;
mod guess;
mod repair;
mod verdict;
mod walk;

use checkout::Checkout;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use verdict::{DEVICES, Refusal, Stages, Times, Verdict};

/// Bytes of stack for a thread that compiles.
const STACK: usize = 256 << 20;
/// A kernel that takes longer than this is named.
const SLOW: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let (flags, folders): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with('-'));
    if folders.is_empty() || flags.iter().any(|flag| flag != "--json" && flag != "--front") {
        eprintln!("usage: survey FOLDER.. [--json] [--front]");
        return ExitCode::from(2);
    }
    let has = |name: &str| flags.iter().any(|flag| flag == name);
    let stages = if has("--front") { Stages::Front } else { Stages::Devices };
    // What panics is in the table.
    std::panic::set_hook(Box::new(|_| {}));
    for folder in &folders {
        match Checkout::read(Path::new(folder)) {
            Ok(checkout) => {
                let table = Table::of(folder, &checkout, stages);
                if has("--json") { println!("{}", table.json()) } else { table.print() }
            }
            Err(error) => {
                eprintln!("cannot read `{folder}`: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Kernels that are refused for one reason.
struct Row {
    device: &'static str,
    refusal: Refusal,
    kernels: usize,
}

/// What became of a folder's kernels.
struct Table {
    folder: String,
    kernels: usize,
    compiled: [usize; DEVICES.len()],
    rows: Vec<Row>,
    /// Kernels that took long, the slowest first.
    slow: Vec<(String, Times)>,
}

impl Table {
    fn of(folder: &str, checkout: &Checkout, stages: Stages) -> Table {
        let unread = checkout.unread.iter().map(|(path, message)| unread(path, message));
        let (verdicts, mut slow) = verdicts(checkout, stages);
        let verdicts: Vec<Verdict> = verdicts.into_iter().chain(unread).collect();
        slow.sort_by_key(|(_, times)| std::cmp::Reverse(times.longest()));
        let compiled = std::array::from_fn(|at| verdicts.iter().filter(|v| v[at].is_none()).count());
        let mut rows: BTreeMap<(usize, &str, String), Row> = BTreeMap::new();
        let mut add = |at: usize, device, refusal: &Refusal| {
            let key = (at, refusal.code, general(&refusal.message));
            rows.entry(key).or_insert_with(|| Row { device, refusal: refusal.clone(), kernels: 0 }).kernels += 1;
        };
        for verdict in &verdicts {
            match verdict {
                // The same on every device: said once.
                [Some(one), Some(two), Some(three)] if one.message == two.message && two.message == three.message => {
                    add(DEVICES.len(), "all", one);
                }
                each => each.iter().enumerate().for_each(|(at, refusal)| {
                    refusal.iter().for_each(|refusal| add(at, DEVICES[at], refusal));
                }),
            }
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.kernels));
        Table { folder: folder.to_owned(), kernels: verdicts.len(), compiled, rows, slow }
    }

    fn print(&self) {
        let share = |n: usize| 100.0 * n as f64 / self.kernels.max(1) as f64;
        let counts = DEVICES.iter().zip(self.compiled).map(|(device, n)| format!("{device} {n} ({:.1} %)", share(n)));
        println!("{}: {} kernels; {}", self.folder, self.kernels, counts.collect::<Vec<_>>().join(", "));
        for Row { device, refusal, kernels } in &self.rows {
            println!("  {kernels:4}  {device:6}  {}  {}", refusal.code, general(&refusal.message));
            println!("                e.g. {}: {}", refusal.place, refusal.message);
        }
        for (kernel, times) in &self.slow {
            let devices = DEVICES.iter().zip(times.devices).map(|(device, time)| format!(", {device} {time:.1?}"));
            println!("  slow  {kernel}: front end {:.1?}{}", times.front, devices.collect::<String>());
        }
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|Row { device, refusal, kernels }| {
            json!({
                "device": device, "code": refusal.code, "reason": general(&refusal.message), "kernels": kernels,
                "sample": {"place": refusal.place, "message": refusal.message},
            })
        });
        let compiled: BTreeMap<&str, usize> = DEVICES.into_iter().zip(self.compiled).collect();
        let slow = self.slow.iter().map(|(kernel, times)| {
            let devices: BTreeMap<&str, f64> =
                DEVICES.into_iter().zip(times.devices.map(|t| t.as_secs_f64())).collect();
            json!({"kernel": kernel, "front": times.front.as_secs_f64(), "devices": devices})
        });
        json!({
            "folder": self.folder, "kernels": self.kernels, "compiled": compiled, "refused": rows.collect::<Vec<_>>(),
            "slow": slow.collect::<Vec<_>>(),
        })
    }
}

/// Compiles all kernels of a folder, on all cores; gives those that took long, too.
fn verdicts(checkout: &Checkout, stages: Stages) -> (Vec<Verdict>, Vec<(String, Times)>) {
    let (next, done) = (AtomicUsize::new(0), Mutex::new((vec![], vec![])));
    let work = || {
        while let Some(entry) = checkout.entries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (verdict, times) = verdict::of(entry, checkout, stages);
            let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            done.0.push(verdict);
            if times.longest() > SLOW {
                done.1.push((format!("{}::{}", entry.file.display(), entry.def.name.name), times));
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            // Without a thread the others do its work.
            drop(std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work));
        }
    });
    done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn unread(path: &Path, message: &str) -> Verdict {
    let refusal = Refusal::of_file(path, message);
    std::array::from_fn(|_| Some(refusal.clone()))
}

/// A message without the names and numbers of one kernel.
fn general(message: &str) -> String {
    let mut pieces: Vec<String> = message.split('`').map(str::to_owned).collect();
    pieces.iter_mut().skip(1).step_by(2).for_each(|name| *name = "..".into());
    let mut text = String::new();
    for c in pieces.join("`").chars() {
        match c {
            '0'..='9' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::of("folder", &Checkout::of([("/folder/kernels.py".into(), text.to_owned())].into()), Stages::Devices)
    }

    #[test]
    fn kernels_are_found_and_their_arguments_guessed() {
        let table = table(
            "
import triton
import triton.language as tl

@triton.jit
def helper(p, at, m):
    return tl.load(p + at, mask=m)

@triton.jit
def pick(out, table, x, n, ACT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    which = helper(table, at, at < n)
    y = helper(x, which, at < n)
    if ACT == 'exp':
        y = tl.exp(y)
    else:
        tl.static_assert(False)
    tl.store(out + at, y, mask=at < n)
",
        );
        assert_eq!((table.kernels, table.compiled, table.rows.len()), (1, [1; 3], 0));
    }

    #[test]
    fn tables_of_addresses_are_given_arrays() {
        let table = table(
            "
import triton
import triton.language as tl

@triton.jit
def grouped(tables, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    base = tl.load(tables + tl.program_id(0)).to(tl.pointer_type(tl.float16))
    tl.store(out + at, tl.load(base + at))
",
        );
        assert_eq!((table.kernels, table.compiled, table.rows.len()), (1, [1; 3], 0));
    }

    #[test]
    fn what_is_refused_has_a_reason_and_a_place() {
        let table = table(
            "
import triton
import triton.language as tl

@triton.jit
def wrong(out, n):
    tl.store(out, missing_name)
",
        );
        assert_eq!((table.kernels, table.compiled), (1, [0; 3]));
        let [row] = &table.rows[..] else { panic!("one reason for all devices") };
        assert_eq!((row.device, row.refusal.code, row.kernels), ("all", "B1003", 1));
        assert!(row.refusal.place.contains("kernels.py:7 in wrong"), "{}", row.refusal.place);
        assert_eq!(general(&row.refusal.message), "there is no `..` here");
    }
}
