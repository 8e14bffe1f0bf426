//! Bend programs and tile kernels on one device hand each other buffers, on every device that this machine has.

use super::runtime::all;
use girih::triton::{Argument as Given, KernelFile, Request};
use girih::{Options, Program, on_big_stack};
use girih_base::num::{Num, NumKind};
use girih_ir::{Scalar, Type};
use girih_runtime::{Constant, TaskOptions};
use girih_task::data::{Argument, Datum, Words};
use girih_task::flow::{Numbers, Outside, Root};
use girih_task::forkjoin::Form;
use girih_task::forkjoin::runner::{ForkJoinOptions, ForkJoinRunner};
use girih_task::heap::{Leaves, Nodes, TreeBuilder, Walker};
use girih_term::code;
use girih_term::ty::Type as Ty;

const LEAVES: &str = "
type Oak:
  Leaf { value: u24 }
  Fork { ~left: Oak, ~right: Oak }

def grow(depth, at):
  switch depth:
    case 0:
      return Oak/Leaf(at * at)
    case _:
      return Oak/Fork(grow(depth-1, 2 * at), grow(depth-1, 2 * at + 1))

def tree(seed):
  return grow(8, seed)

def total(oak: Oak) -> u24:
  fold oak:
    case Oak/Leaf:
      return oak.value
    case Oak/Fork:
      return oak.left + 3 * oak.right

def main():
  return total(tree(0))
";

const TRITON: &str = "
import triton
import triton.language as tl


@triton.jit
def halve(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(y_ptr + at, x // 2 + 1, mask=mask)
";

/// The leaves of a tree that a Bend program has grown on a device go into a Triton kernel there, and what that writes becomes a tree for another function of the
/// program: the host sees only its sum.
#[test]
fn trees_of_a_bend_program_and_arrays_of_a_triton_kernel_become_each_other() {
    on_big_stack(|| {
        let program = Program::from_text("leaves.bend", LEAVES, &Options::default());
        let code = code::Code::new(program.core_program().expect("it is right")).expect("it can run");
        let tree = code.program().def_named("tree").expect("it is there");
        let u24 = Outside::Number(Numbers::one(NumKind::U24));
        let total = code.program().def_named("total").expect("it is there");
        let Ty::Arrow(oak, _) = &code.program().defs[total].ty.ty else { panic!("it is a function") };
        let roots = [
            Root { def: tree, arguments: vec![u24] },
            Root { def: total, arguments: vec![Outside::Typed((**oak).clone())] },
        ];
        let direct = girih_task::compile_for_lanes(&code, &roots).expect("it compiles");
        let ctor = |name: &str| {
            code.program().ctors.ids().find(|id| code.program().ctors[*id].name.as_str() == name).expect("it is there")
        };
        let nodes = Nodes { fork: ctor("Oak/Fork"), leaf: ctor("Oak/Leaf"), number: NumKind::U24 };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("halve.py");
        std::fs::write(&path, TRITON).expect("it can be written");
        let file = KernelFile::open(&path).expect("it can be read");
        let given = [
            ("x_ptr", Given::Buffer(Scalar::I32)),
            ("y_ptr", Given::Buffer(Scalar::I32)),
            ("n", Given::Scalar(Scalar::I32, 256)),
            ("BLOCK", Given::Constant(girih::triton::Constant::Int(128))),
        ];
        let arguments = given.into_iter().map(|(name, given)| (name.to_owned(), given)).collect();
        let request = Request { kernel: "halve".into(), arguments, ..Request::default() };
        for device in all() {
            let options = ForkJoinOptions { lanes: 64, form: Form::SMALL, heap: 1 << 20, ..ForkJoinOptions::default() };
            let called: Vec<_> = [direct.entry, direct.apply, direct.force]
                .into_iter()
                .chain(direct.roots.iter().map(|root| root.function))
                .collect();
            let tasks = TaskOptions::default();
            let mut runner = ForkJoinRunner::open(&direct.module, &called, device.clone(), &tasks, options)
                .unwrap_or_else(|errors| panic!("{device:?}: {}", errors[0].message));
            let core = code.program();
            let mut words = Words { program: core, direct: &direct, runner: &mut runner, interrupt: None };
            let seed = Argument::Number(Num::U24(3));
            let grown = words.call_root(&direct.roots[0], &[seed]).expect("it grows");
            let root: Vec<_> = grown.iter().map(|part| Words::root(*part)).collect();
            let heap = words.runner.device_heap().expect("the heap is on the device");
            assert!(heap.buffer.device().is(&device));
            let walker = Walker::open(&device, &Words::described(&direct)).expect("it is loaded");
            let leaves = device.empty::<u32>(256).expect("there is memory");
            let whole = walker.gather(&heap, &root, (8, 256), (leaves.buffer(), Leaves::Numbers));
            assert!(whole.expect("the device works"), "{device:?}");
            let halved = device.empty::<u32>(256).expect("there is memory");
            let loaded = file.load(&device, &request).unwrap_or_else(|report| panic!("{device:?}: {report}"));
            let n = girih_runtime::Argument::Scalar(Constant { ty: Type::I32, bits: 256 });
            let arguments = [("x_ptr", leaves.buffer().into()), ("y_ptr", halved.buffer().into()), ("n", n)];
            loaded.launch(&device, [2, 1, 1], &arguments).unwrap_or_else(|report| panic!("{device:?}: {report}"));
            let expected: Vec<u32> =
                (0..256u32).map(|i| ((3 * 256 + i) * (3 * 256 + i)) & 0xff_ffff).map(|x| x / 2 + 1).collect();
            let builder =
                TreeBuilder::open(&device).unwrap_or_else(|errors| panic!("{device:?}: {}", errors[0].message));
            let built = builder.build(&mut words, nodes, halved.buffer()).expect("it is built");
            let built = Argument::Value(built.expect("the heap is on the device"));
            let total = words.call_root(&direct.roots[1], &[built]).expect("it is added up");
            assert_eq!(total, [Datum::Number(Num::u24(sum(&expected)))], "{device:?}");
            assert_eq!(halved.read(&device.stream()).expect("it is there"), expected, "{device:?}");
        }
    });
}

/// What `total` gives for these leaves.
fn sum(leaves: &[u32]) -> u32 {
    let (left, right) = leaves.split_at(leaves.len() / 2);
    if left.is_empty() { right[0] } else { sum(left).wrapping_add(sum(right).wrapping_mul(3)) }
}
