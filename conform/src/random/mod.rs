//! Random kernels: structured, verified, free of races, with every access in bounds.
//!
//! A kernel is a function of a list of bytes, its *choices*; after the last byte, every further choice is 0, the simplest. So a
//! failing kernel shrinks by leaving out and lowering bytes ([`super::shrink`]). Kernels favour what breaks code generators:
//! loops that swap what they carry, switches in loops, values that live across barriers.

mod control;
mod memory;
mod vectors;
mod writer;

use super::{Case, CaseArgument, Expectation, Group, pack};
use girih_ir::ops::Class;
use girih_ir::{FunctionId, Module, Scalar, Type, verify};
use girih_runtime::Constant;
use writer::kernel;

/// Invocations of a workgroup: several subgroups of most devices, so that what crosses them shows.
const WORKGROUP: u32 = 64;
/// Workgroups of a launch.
const GRID: u32 = 2;
/// Words of the input.
const WORDS: u32 = 128;
/// Most statements that access memory: software devices compile slowly beyond that.
const MEMORY_SITES: u32 = 16;
/// Most instructions, about.
const SIZE: u32 = 160;

/// `count` random kernels from a seed, packed into groups of at most `each`.
pub fn random_groups(seed: u64, count: usize, each: usize) -> impl Iterator<Item = Group> {
    packed("random", seed, count, each, group)
}

/// Groups of random choices.
pub(super) fn packed(
    what: &'static str,
    seed: u64,
    count: usize,
    each: usize,
    group: fn(String, &[Vec<u8>]) -> Group,
) -> impl Iterator<Item = Group> {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = move || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let mut made = 0;
    std::iter::from_fn(move || {
        let here = each.min(count - made);
        if here == 0 {
            return None;
        }
        let kernels: Vec<Vec<u8>> = (0..here)
            .map(|_| {
                let length = 16 + next() as usize % 240;
                (0..length).map(|_| next() as u8).collect()
            })
            .collect();
        let name = format!("{what} {seed}:{made}");
        made += here;
        Some(group(name, &kernels))
    })
}

/// The kernels of these choices, one case each.
///
/// # Panics
/// If a kernel breaks a rule of the IR: a mistake of the generator, or of the verifier.
pub fn group(name: String, kernels: &[Vec<u8>]) -> Group {
    let mut module = Module::default();
    let mut cases = vec![];
    for (i, choices) in kernels.iter().enumerate() {
        let function = kernel(&format!("k{i}"), choices, &mut module);
        let kernel = module.functions.push(function);
        cases.push(case(
            format!("{i} {}", super::Choices { writer: super::KernelForm::Plain, bytes: choices.clone() }),
            kernel,
            choices,
        ));
    }
    match verify(module) {
        Ok(module) => Group { name, module, cases },
        Err(errors) => panic!("a random kernel of `{name}` breaks a rule: {}", errors[0].message),
    }
}

fn case(name: String, kernel: FunctionId, choices: &[u8]) -> Case {
    let mut word = choices.iter().fold(0x1234_5678u32, |h, b| h.rotate_left(5) ^ u32::from(*b));
    let mut words = || {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Half of them small, so that conditions go both ways.
        u64::from(if word & 1 == 0 { word } else { word >> 24 })
    };
    let input = pack(Scalar::U32, (0..WORDS).map(|_| words()));
    let n = (WORKGROUP * GRID) as usize;
    let out = |scalar, class| CaseArgument::Buffer(vec![0; n * 4], Expectation::class(scalar, class));
    let arguments = vec![
        CaseArgument::Buffer(input, Expectation::exact(Scalar::U32)),
        out(Scalar::U32, Class::Exact),
        out(Scalar::F32, Class::Rounded),
        CaseArgument::Buffer(vec![0; 16], Expectation::exact(Scalar::U32)),
        CaseArgument::Scalar(Constant { ty: Type::U32, bits: words() }),
    ];
    Case::new(name, kernel, arguments, Some([GRID, 1, 1]))
}

/// Bytes that decide.
pub(super) struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl Choices<'_> {
    pub(super) fn new(bytes: &[u8]) -> Choices<'_> {
        Choices { bytes: bytes.iter() }
    }
    /// One of `n`; 0 when the bytes have run out.
    pub(super) fn pick(&mut self, n: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % n
    }
    pub(super) fn one_of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.pick(options.len())]
    }
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::{self, reference};
    use super::super::{Oracle, run_group};
    use super::*;
    use girih::devices::{self, Profile, Selector};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    #[test]
    fn many_seeds_make_kernels_that_follow_the_rules() {
        let groups: Vec<Group> = random_groups(1, 200, 25).collect();
        assert_eq!(groups.len(), 8);
        assert!(groups.iter().all(|g| g.cases.len() == 25));
    }

    /// What is wrong with the kernel of these choices on a device.
    fn wrong(choices: &[u8], selector: &Selector) -> Option<String> {
        let group = group("random".to_owned(), &[choices.to_vec()]);
        let device = devices::open(selector, None).expect("it is always there");
        let mut machine = reference;
        let outcomes = run_group(&mut Oracle::new(&group, &mut machine), &device);
        suite::wrong(&group, &outcomes).next().map(|(_, what)| what)
    }

    /// Kernels of random choices, always the same ones, shrunk where they fail.
    #[test]
    fn kernels_do_on_devices_what_the_reference_machine_does() {
        let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let devices = [Selector::Cpu, Selector::Lowered(Profile::Web), Selector::Lowered(Profile::Cuda(90))];
        let choices = proptest::collection::vec(any::<u8>(), 16..256);
        let held = runner.run(&choices, |choices| {
            for device in &devices {
                let found = wrong(&choices, device);
                prop_assert!(found.is_none(), "{device}: {found:?}");
            }
            Ok(())
        });
        held.unwrap_or_else(|failure| panic!("{failure}"));
    }
}
