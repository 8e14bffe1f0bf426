//! What is kept is found again, and only where nothing has changed.

use super::super::{Constant, KernelFile};
use super::*;
use crate::devices::{Selector, open};
use girih_ir::{Scalar, Type};
use girih_runtime::Memory;
use std::path::Path;

const TEXT: &str = "
import triton
import triton.language as tl
from helper import more

@triton.jit
def fill(out_ptr, n, ADD: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, more(at) + ADD, mask=at < n)
";
const HELPER: &str = "
import triton

@triton.jit
def more(x):
    return x + 100
";
const CHOSEN: &str = "
import triton
import triton.language as tl

@triton.heuristics({'ADD': lambda args: args['n'] % 2})
@triton.jit
def fill(out_ptr, n, ADD: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at + ADD, mask=at < n)
";

const BLOCK: u32 = 32;

/// A folder with the kernel, what it imports, and what is kept.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a temporary folder") };
        place.write("fill.py", TEXT);
        place.write("helper.py", HELPER);
        place
    }
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("it can be written");
    }
    fn file(&self) -> KernelFile {
        let file = KernelFile::open(self.folder.path().join("fill.py")).expect("it is there");
        file.kept_in(Some(self.folder.path().join("kept")))
    }
    /// The files of a kind that are kept.
    fn kept(&self, kind: &str) -> Vec<std::path::PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.folder.path().join("kept").join(kind)) else { return vec![] };
        entries.map(|entry| entry.expect("it can be read").path()).collect()
    }
    /// Whether the kernel was kept, and what it writes.
    fn run(&self, n: u32, change: impl Fn(&mut Request)) -> (bool, Vec<u32>) {
        run(&self.file(), n, change)
    }
}

fn request(n: u32) -> Request {
    Request {
        kernel: "fill".into(),
        arguments: vec![
            ("out_ptr".into(), Argument::Buffer(Scalar::I32)),
            ("n".into(), Argument::Scalar(Scalar::I32, n.into())),
            ("ADD".into(), Argument::Constant(Constant::Int(1))),
            ("BLOCK".into(), Argument::Constant(Constant::Int(BLOCK.into()))),
        ],
        ..Request::default()
    }
}

/// Runs the kernel of a file in a new device, as another process would.
fn run(file: &KernelFile, n: u32, change: impl Fn(&mut Request)) -> (bool, Vec<u32>) {
    let device = open(&Selector::parse("ptx:sm_80").expect("it is one"), None).expect("it is always there");
    let mut request = request(n);
    change(&mut request);
    let loaded = file.load(&device, &request).expect("it is right");
    let bytes = u64::from(4 * n);
    let buffer = device.zeroed(Memory { bytes, indirect: false }).expect("it is small");
    let number = girih_runtime::Constant { ty: Type::Scalar(Scalar::I32), bits: n.into() };
    let arguments =
        [("out_ptr", girih_runtime::Argument::buffer(&buffer)), ("n", girih_runtime::Argument::Scalar(number))];
    loaded.launch(&device, [n.div_ceil(BLOCK), 1, 1], &arguments).expect("it runs");
    let mut words = vec![0; bytes as usize];
    device.read(&buffer, 0, &mut words).expect("it can be read");
    let number = |w: &[u8]| u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
    (loaded.was_kept, words.chunks_exact(4).map(number).collect())
}

fn expected(n: u32, more: u32) -> Vec<u32> {
    (0..n).map(|i| i + more).collect()
}

fn no_change(_: &mut Request) {}

#[test]
fn warm_and_cold_give_the_same() {
    let place = Place::new();
    assert_eq!(place.run(100, no_change), (false, expected(100, 101)));
    assert_eq!(place.run(100, no_change), (true, expected(100, 101)));
    // Another number of which the same may be assumed.
    assert_eq!(place.run(75, no_change), (true, expected(75, 101)));
    // Nothing is kept where there is no folder.
    let nowhere = place.file().kept_in(None);
    assert_eq!(run(&nowhere, 100, no_change), (false, expected(100, 101)));
}

#[test]
fn what_a_kernel_is_made_from_is_in_its_key() {
    let place = Place::new();
    assert!(!place.run(100, no_change).0);
    let new = |what: &str, n: u32, more: u32, change: &dyn Fn(&mut Request)| {
        assert_eq!(place.run(n, change), (false, expected(n, more)), "{what}");
        assert_eq!(place.run(n, change), (true, expected(n, more)), "{what}, again");
    };
    new("a multiple of 16", 112, 101, &no_change);
    new("one", 1, 101, &no_change);
    new("a constant", 100, 107, &|r| r.arguments[2].1 = Argument::Constant(Constant::Int(7)));
    new("a constant given as a number", 100, 105, &|r| r.arguments[2].1 = Argument::Scalar(Scalar::I32, 5));
    new("another such", 100, 106, &|r| r.arguments[2].1 = Argument::Scalar(Scalar::I32, 6));
    new("the type of the elements", 100, 101, &|r| r.arguments[0].1 = Argument::Buffer(Scalar::U32));
    new("warps", 100, 101, &|r| r.num_warps = Some(2));
    place.write("helper.py", &HELPER.replace("100", "200"));
    new("an imported file", 100, 201, &no_change);
    place.write("helper.py", HELPER);
    // Another source, but the module of before: its program is there.
    assert_eq!(place.run(100, no_change), (true, expected(100, 101)), "the imported file as it was");
    place.write("fill.py", &TEXT.replace("+ ADD", "+ 2 * ADD"));
    new("the source", 100, 102, &no_change);
    place.write("fill.py", &format!("{TEXT}\n# A remark.\n"));
    assert_eq!(place.run(100, no_change), (true, expected(100, 101)), "a remark changes no module");
    place.write("fill.py", TEXT);
    assert_eq!(place.run(100, no_change), (true, expected(100, 101)), "the source as it was");
}

#[test]
fn a_module_that_now_comes_first_is_found() {
    let place = Place::new();
    let inner = place.folder.path().join("inner");
    std::fs::create_dir(&inner).expect("it can be made");
    std::fs::write(inner.join("fill.py"), TEXT).expect("it can be written");
    let file = || KernelFile::open(inner.join("fill.py")).expect("it is there").kept_in(Some(inner.join("kept")));
    // The helper is in the folder above.
    assert_eq!(run(&file(), 100, no_change), (false, expected(100, 101)));
    assert_eq!(run(&file(), 100, no_change), (true, expected(100, 101)));
    std::fs::write(inner.join("helper.py"), HELPER.replace("100", "300")).expect("it can be written");
    assert_eq!(run(&file(), 100, no_change), (false, expected(100, 301)));
}

#[test]
fn numbers_that_decorators_look_at_count() {
    let place = Place::new();
    place.write("fill.py", CHOSEN);
    let chosen = |r: &mut Request| drop(r.arguments.remove(2));
    for kept in [false, true] {
        assert_eq!(place.run(100, chosen), (kept, expected(100, 0)));
        assert_eq!(place.run(101, chosen), (kept, expected(101, 1)));
    }
}

#[test]
fn a_damaged_entry_is_made_anew() {
    let place = Place::new();
    assert!(!place.run(100, no_change).0);
    let damages: [&dyn Fn(&Path); 3] = [
        &|path| std::fs::write(path, b"").expect("it can be written"),
        &|path| std::fs::write(path, [0x5a; 1000]).expect("it can be written"),
        &|path| {
            let mut bytes = std::fs::read(path).expect("it can be read");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(path, bytes).expect("it can be written");
        },
    ];
    for damage in damages {
        // Without its program the kernel is compiled; without its head only its source is read again.
        for (kind, is_there) in [("programs", false), ("kernels", true)] {
            let kept = place.kept(kind);
            assert_eq!(kept.len(), 1);
            damage(&kept[0]);
            assert_eq!(place.run(100, no_change), (is_there, expected(100, 101)), "{kind}");
            assert_eq!(place.run(100, no_change), (true, expected(100, 101)), "{kind}");
        }
    }
}

#[test]
fn errors_are_said_each_time() {
    let place = Place::new();
    place.write("fill.py", &TEXT.replace("tl.arange", "tl.orange"));
    let device = open(&Selector::parse("ptx:sm_80").expect("it is one"), None).expect("it is always there");
    let said = |device: &Device| {
        let report = place.file().load(device, &request(100)).expect_err("it is wrong");
        report.diagnostics[0].message.clone()
    };
    let first = said(&device);
    assert!(first.contains("orange"), "{first}");
    assert_eq!(said(&device), first);
    assert_eq!(place.kept("kernels").len() + place.kept("programs").len(), 0);
}
