//! Products of matrices in loops, as dense kernels are made of them: whatever a device does ahead or leaves in flight from one iteration to the next,
//! sums are exact. The reference machine looks at each access, so what is written while somebody may still read it is found there.
//!
//! `GIRIH_DEVICE` names devices, with commas, instead of those that are tried.

use girih::devices::{self, Selector};
use girih::runtime;
use girih::triton::{Argument, Constant, KernelFile, Request};
use girih_ir::{Scalar, Type};
use girih_runtime::{Buffer, Device, Memory};

const KERNELS: &str = "
import triton
import triton.language as tl


@triton.jit
def places(BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    return tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)


# Nothing but products are added to the sums.
@triton.jit
def plain(a_ptr, b_ptr, c_ptr, K, a_m, a_k, b_k, b_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m, n, k = places(BLOCK_M, BLOCK_N, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        inside = k < K - step * BLOCK_K
        a = tl.load(a_ptr + m[:, None] * a_m + k[None, :] * a_k, mask=inside[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * b_k + n[None, :] * b_n, mask=inside[:, None], other=0.0)
        total = tl.dot(a, b, total)
        a_ptr += BLOCK_K * a_k
        b_ptr += BLOCK_K * b_k
    tl.store(c_ptr + m[:, None] * BLOCK_N + n[None, :], total)


# The sums are looked at in each iteration.
@triton.jit
def scaled(a_ptr, b_ptr, c_ptr, K, a_m, a_k, b_k, b_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m, n, k = places(BLOCK_M, BLOCK_N, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        inside = k < K - step * BLOCK_K
        a = tl.load(a_ptr + m[:, None] * a_m + k[None, :] * a_k, mask=inside[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * b_k + n[None, :] * b_n, mask=inside[:, None], other=0.0)
        total = tl.dot(a, b, total * 2.0 - total)
        a_ptr += BLOCK_K * a_k
        b_ptr += BLOCK_K * b_k
    tl.store(c_ptr + m[:, None] * BLOCK_N + n[None, :], total)


# The depth goes over two loops, and what was summed is stored after each round of the outer one.
@triton.jit
def nested(a_ptr, b_ptr, c_ptr, K, a_m, a_k, b_k, b_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m, n, k = places(BLOCK_M, BLOCK_N, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    done = 0
    for part in range(0, 3):
        steps = tl.cdiv(K, BLOCK_K)
        end = steps * (part + 1) // 3
        for step in range(done, end):
            at = step * BLOCK_K + k
            a = tl.load(a_ptr + m[:, None] * a_m + at[None, :] * a_k, mask=(at < K)[None, :], other=0.0)
            b = tl.load(b_ptr + at[:, None] * b_k + n[None, :] * b_n, mask=(at < K)[:, None], other=0.0)
            total = tl.dot(a, b, total)
        done = end
        tl.store(c_ptr + m[:, None] * BLOCK_N + n[None, :], total)


# Two products in an iteration, and rows that are exchanged on the way.
@triton.jit
def two(a_ptr, b_ptr, c_ptr, K, a_m, a_k, b_k, b_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m, n, k = places(BLOCK_M, BLOCK_N, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    other = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        at = step * BLOCK_K + k
        a = tl.load(a_ptr + m[:, None] * a_m + at[None, :] * a_k, mask=(at < K)[None, :], other=0.0)
        b = tl.load(b_ptr + at[:, None] * b_k + n[None, :] * b_n, mask=(at < K)[:, None], other=0.0)
        total = tl.dot(a, b, total)
        other = tl.dot(a, b, other)
    tl.store(c_ptr + m[:, None] * BLOCK_N + n[None, :], 2 * total - other)
";

/// A product of `m` by `n` with a depth of `k`, in steps of `block`. Which factors are stored by columns.
#[derive(Clone, Copy, Debug)]
struct Product {
    kernel: &'static str,
    sides: [usize; 3],
    block: usize,
    by_columns: [bool; 2],
    warps: u32,
}

/// Whole numbers below 3, whose sums of products are exact.
fn number(i: usize) -> f32 {
    (i * 7 % 11 % 5) as f32 - 2.0
}

fn stored(device: &Device, numbers: &[f32]) -> Buffer {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| half::f16::from_f32(*x).to_bits().to_le_bytes()).collect();
    let buffer = device.zeroed(Memory::of(bytes.len().max(4) as u64)).expect("there is memory");
    device.write(&buffer, 0, &bytes).expect("it can be written");
    buffer
}

impl Product {
    fn run(&self, file: &KernelFile, device: &Device) {
        let [m, n, k] = self.sides;
        let a = |row: usize, depth: usize| number(row * 31 + depth * 3);
        let b = |depth: usize, column: usize| number(depth * 17 + column * 5 + 1);
        let rows = |rows: usize, columns: usize, of: &dyn Fn(usize, usize) -> f32| -> Vec<f32> {
            (0..rows * columns).map(|i| of(i / columns, i % columns)).collect()
        };
        let a_array = if self.by_columns[0] { rows(k, m, &|d, r| a(r, d)) } else { rows(m, k, &a) };
        let b_array = if self.by_columns[1] { rows(n, k, &|c, d| b(d, c)) } else { rows(k, n, &b) };
        let strides = |by_columns: bool, rows: usize, columns: usize| if by_columns { (1, rows) } else { (columns, 1) };
        let ((a_m, a_k), (b_k, b_n)) = (strides(self.by_columns[0], m, k), strides(self.by_columns[1], k, n));
        let numbers = [("K", k), ("a_m", a_m), ("a_k", a_k), ("b_k", b_k), ("b_n", b_n)];
        let blocks = [("BLOCK_M", m), ("BLOCK_N", n), ("BLOCK_K", self.block)];
        let pointers = [("a_ptr", Scalar::F16), ("b_ptr", Scalar::F16), ("c_ptr", Scalar::F32)];
        let mut arguments: Vec<(String, Argument)> =
            pointers.iter().map(|(name, of)| ((*name).to_owned(), Argument::Buffer(*of))).collect();
        arguments
            .extend(numbers.iter().map(|(name, n)| ((*name).to_owned(), Argument::Scalar(Scalar::I32, *n as u64))));
        let constant = |n: usize| Argument::Constant(Constant::Int(n as i128));
        arguments.extend(blocks.iter().map(|(name, n)| ((*name).to_owned(), constant(*n))));
        let request =
            Request { kernel: self.kernel.into(), arguments, num_warps: Some(self.warps), ..Request::default() };
        let what = format!("{self:?} on {}", device.info().name);
        let loaded = file.load(device, &request).unwrap_or_else(|e| panic!("{what}: {e}"));
        let out = device.zeroed(Memory::of((m * n * 4) as u64)).expect("there is memory");
        let (left, right) = (stored(device, &a_array), stored(device, &b_array));
        let mut given = vec![
            ("a_ptr", runtime::Argument::buffer(&left)),
            ("b_ptr", runtime::Argument::buffer(&right)),
            ("c_ptr", runtime::Argument::buffer(&out)),
        ];
        let scalar = |n: usize| runtime::Argument::Scalar(runtime::Constant { ty: Type::I32, bits: n as u64 });
        given.extend(numbers.iter().map(|(name, n)| (*name, scalar(*n))));
        loaded.launch(device, [1, 1, 1], &given).unwrap_or_else(|e| panic!("{what}: {e}"));
        let mut bytes = vec![0; m * n * 4];
        device.read(&out, 0, &mut bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
        for (i, found) in bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).enumerate() {
            let expected: f32 = (0..k).map(|d| a(i / n, d) * b(d, i % n)).sum();
            assert_eq!(found.to_bits(), (expected + 0.0).to_bits(), "{what}: element {i} is {found}, not {expected}");
        }
    }
}

fn places() -> Vec<Selector> {
    let named = std::env::var("GIRIH_DEVICE");
    let names = named.as_deref().unwrap_or("lowered:sm_90,ptx:sm_90a,cpu");
    names.split(',').map(|name| Selector::parse(name).expect("a device's name")).collect()
}

#[test]
fn products_in_loops() {
    let file = KernelFile::from_text("products.py", KERNELS);
    let run = |selector: &Selector| {
        let device = devices::open(selector, None).expect("the device is there");
        for kernel in ["plain", "scaled", "nested", "two"] {
            // No step, fewer steps than there are stages, as many, and more, with and without a rest.
            for (i, depth) in [0, 16, 32, 40, 64, 96, 128, 200].into_iter().enumerate() {
                let by_columns = [i & 1 == 1, i & 2 == 2];
                Product { kernel, sides: [64, 32, depth], block: 32, by_columns, warps: 4 }.run(&file, &device);
            }
            Product { kernel, sides: [128, 64, 208], block: 64, by_columns: [false, false], warps: 8 }
                .run(&file, &device);
        }
    };
    let places = places();
    std::thread::scope(|scope| {
        for selector in &places {
            scope.spawn(|| run(selector));
        }
    });
}
