//! Sorts a tree in rounds of two dispatches until nothing is left to run. The host knows nothing of the recursion: it says
//! `turn`, `superstep`, `turn`, `superstep`, .. and looks from time to time whether the root has returned.

use super::machine::Machine;
use girih_runtime::{Argument, Buffer, Command, Dispatch, Grid};
use std::time::Duration;

/// Words of the control buffer; see `bitonic.gir`.
const TASKS_0: usize = 0;
const READ_NOW: usize = 4;
const DONE: usize = 5;
const RESULT: usize = 6;
const SUPERSTEPS: usize = 11;
const RUN: usize = 12;
const CONTROL_WORDS: usize = 16;

/// Rounds between two looks at the control buffer.
const ROUNDS: usize = 64;

/// What a sort took.
#[derive(Debug)]
pub struct Sorted {
    pub steps: u32,
    pub run: u32,
    pub elapsed: Duration,
}

/// A tree of 2^depth leaves in cells of two words; subtrees of eight leaves are strided, so that neighbouring lanes walk
/// neighbouring cells.
pub struct Tree {
    pub cells: Vec<u32>,
    pub root: u32,
    pub depth: u32,
}

const LEAF_DEPTH: u32 = 3;
const STRIDE: u32 = 32;

impl Tree {
    /// The tree whose leaves are `values`, a power of two of at least eight. Unused cells hold nonsense.
    pub fn new(values: &[u32]) -> Tree {
        let depth = values.len().ilog2();
        assert!(values.len().is_power_of_two() && depth >= LEAF_DEPTH);
        let subtrees = 1u32 << (depth - LEAF_DEPTH);
        let upper = subtrees.next_multiple_of(STRIDE) << LEAF_DEPTH;
        let mut cells = vec![0xdead_beef; 2 * (upper + subtrees) as usize];
        let base = |i: u32| (i / STRIDE) * (STRIDE << LEAF_DEPTH) + i % STRIDE;
        let mut put = |at: u32, left: u32, right: u32| {
            cells[2 * at as usize] = left;
            cells[2 * at as usize + 1] = right;
        };
        for i in 0..subtrees {
            for q in 1..8 {
                let child = |c: u32| {
                    if c < 8 { (base(i) + STRIDE * c) * 2 } else { values[(i * 8 + c - 8) as usize] * 2 + 1 }
                };
                put(base(i) + STRIDE * q, child(2 * q), child(2 * q + 1));
            }
        }
        // Heap numbering above: node i has children 2 i and 2 i + 1; from `subtrees` on they are the roots of subtrees.
        let node = |i: u32| if i < subtrees { (upper + i) * 2 } else { (base(i - subtrees) + STRIDE) * 2 };
        for i in 1..subtrees {
            put(upper + i, node(2 * i), node(2 * i + 1));
        }
        Tree { cells, root: node(1), depth }
    }

    /// The leaves' values, from left to right.
    pub fn leaves(cells: &[u32], root: u32, depth: u32) -> Vec<u32> {
        let mut words = vec![root];
        for _ in 0..depth {
            words = words
                .iter()
                .flat_map(|w| {
                    assert_eq!(w & 1, 0, "a leaf stands above the tree's last level");
                    [cells[*w as usize], cells[*w as usize + 1]]
                })
                .collect();
        }
        assert!(words.iter().all(|w| w & 1 == 1), "a node stands on the tree's last level");
        words.iter().map(|w| w >> 1).collect()
    }
}

/// Sorts `values` on a device and gives them back, with what it took.
pub fn sort(machine: &mut Machine, values: &[u32]) -> (Vec<u32>, Sorted) {
    let tree = Tree::new(values);
    let [turn, superstep] = machine.load(include_str!("../../ir/proofs/bitonic.gir"), ["turn", "superstep"]);
    // At most one frame a subtree is alive, and as many are free but not yet to be taken.
    let capacity = (2u32 << (tree.depth - LEAF_DEPTH)).max(64);
    let cells = machine.buffer(&tree.cells);
    let tasks = machine.zeros(2 * 8 * capacity as usize);
    let joins = machine.zeros(2 * capacity as usize);
    let frames = machine.zeros(12 * capacity as usize);
    let pending = machine.zeros(capacity as usize);
    let free = machine.zeros(capacity as usize);
    let grid = machine.indirect(3);
    // The first `turn` makes queue 0 the one that is read: the task that sorts the whole tree upwards.
    let mut control = [0; CONTROL_WORDS];
    control[TASKS_0] = 1;
    control[READ_NOW] = 1;
    let control = machine.buffer(&control);
    machine.write(&tasks, &[u32::MAX, 0, 0, tree.depth, tree.root, 0, 0, 0]);

    let buffers = |list: &[&Buffer]| list.iter().map(|b| Argument::buffer(b)).collect::<Vec<_>>();
    let mut arguments = buffers(&[&cells, &tasks, &joins, &frames, &pending, &free, &control]);
    arguments.push(Machine::u32(capacity));
    let round = [
        Command::Dispatch(Dispatch { program: turn, arguments: buffers(&[&control, &grid]), grid: Grid::Own }),
        Command::Dispatch(Dispatch { program: superstep, arguments, grid: Grid::Indirect(grid.clone()) }),
    ];
    let rounds: Vec<Command> = std::iter::repeat_n(round, ROUNDS).flatten().collect();

    let mut elapsed = Duration::ZERO;
    let state = loop {
        elapsed += machine.time(&rounds);
        let state = machine.read(&control, CONTROL_WORDS);
        let queued: u32 = state[0..4].iter().sum();
        assert!(queued > 0 || state[DONE] == 1, "nothing is left to run, but the root has not returned: {state:?}");
        if state[DONE] == 1 && queued == 0 {
            break state;
        }
    };
    let cells = machine.read(&cells, tree.cells.len());
    let leaves = Tree::leaves(&cells, state[RESULT], tree.depth);
    (leaves, Sorted { steps: state[SUPERSTEPS], run: state[RUN], elapsed })
}

/// How many supersteps and tasks the recursion has: what a device must have run, whatever order it ran them in.
pub fn expected(depth: u32) -> (u32, u32) {
    // Supersteps and items of a warp, a flow and a sort over 2^d leaves.
    fn warp(d: u32) -> (u32, u32) {
        if d <= LEAF_DEPTH {
            return (1, 1);
        }
        let (e, n) = warp(d - 1);
        (e + 2, 2 * n + 2)
    }
    fn flow(d: u32) -> (u32, u32) {
        if d <= LEAF_DEPTH {
            return (1, 1);
        }
        let ((we, wn), (fe, n)) = (warp(d - 1), flow(d - 1));
        (we + fe + 3, wn + 2 * n + 3)
    }
    if depth <= LEAF_DEPTH {
        return (1, 1);
    }
    let ((e, n), (fe, fnn)) = (expected(depth - 1), flow(depth));
    (1 + e + fe, 1 + 2 * n + fnn)
}

#[test]
fn trees_hold_their_leaves() {
    for depth in 3..10 {
        let values: Vec<u32> = (0..1 << depth).map(|i| i * 7 % 1024).collect();
        let tree = Tree::new(&values);
        assert_eq!(Tree::leaves(&tree.cells, tree.root, depth), values);
    }
}
