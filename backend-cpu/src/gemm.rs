//! Products of matrices in memory, which compiled code calls: the crates `gemm-f32` and `gemm-f64`, whose loops use the widest vectors that
//! the processor has.
//!
//! Invariant: nothing is read or written before all elements of the three matrices are known to be in their memories. The result depends on the operands alone, not
//! on the thread or on how many there are.

use gemm_common::Parallelism;
use girih_ir::Scalar;

/// How many words code passes.
pub(crate) const WORDS: usize = 17;

/// The function for a type of elements, if there is one.
pub(crate) fn symbol(element: Scalar) -> Option<&'static str> {
    match element {
        Scalar::F32 => Some("girih_gemm_f32"),
        Scalar::F64 => Some("girih_gemm_f64"),
        _no_such_function => None,
    }
}

/// The functions by symbol. Each takes the address of [`WORDS`] words and gives 0; or 1, 2, 3 for the matrix that leaves its memory, and the element in the first word.
pub(crate) fn symbols() -> [(&'static str, *const u8); 2] {
    [("girih_gemm_f32", single as *const u8), ("girih_gemm_f64", double as *const u8)]
}

/// A matrix in a memory, as code describes it: base, bytes of the memory, first element.
#[derive(Clone, Copy)]
struct Matrix {
    base: u64,
    bytes: u64,
    first: u64,
}

/// What a product is, in the order of the words.
struct Product {
    c: Matrix,
    a: Matrix,
    b: Matrix,
    rows: u64,
    columns: u64,
    depth: u64,
    c_row: u64,
    a_row: u64,
    a_column: u64,
    b_row: u64,
    b_column: u64,
}

impl Product {
    fn of(words: &[u64; WORDS]) -> Product {
        let [cb, cn, ci, ab, an, ai, bb, bn, bi, rows, columns, depth, c_row, a_row, a_column, b_row, b_column] =
            *words;
        let matrix = |base, bytes, first| Matrix { base, bytes, first };
        let (c, a, b) = (matrix(cb, cn, ci), matrix(ab, an, ai), matrix(bb, bn, bi));
        Product { c, a, b, rows, columns, depth, c_row, a_row, a_column, b_row, b_column }
    }

    /// Whether nothing is added to anything.
    fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0 || self.depth == 0
    }

    /// The first matrix that leaves its memory, from 1 on, and the element that is not there.
    fn outside(&self, size: u64) -> Option<(u32, u64)> {
        let matrices = [
            (self.c, (self.rows, self.c_row), (self.columns, 1)),
            (self.a, (self.rows, self.a_row), (self.depth, self.a_column)),
            (self.b, (self.depth, self.b_row), (self.columns, self.b_column)),
        ];
        (1..).zip(matrices).find_map(|(number, (matrix, rows, columns))| {
            let far = |(length, stride): (u64, u64)| u128::from(length - 1) * u128::from(stride);
            let last = u128::from(matrix.first) + far(rows) + far(columns);
            let is_there = last < u128::from(matrix.bytes / size);
            (!is_there).then(|| (number, u64::try_from(last).unwrap_or(u64::MAX)))
        })
    }
}

macro_rules! product {
    ($name:ident, $ty:ty, $function:expr) => {
        /// Multiplies matrices as the words at an address say.
        #[allow(unsafe_code)]
        extern "C" fn $name(words: *mut [u64; WORDS]) -> u32 {
            // SAFETY: only code of `translate/gemm.rs` calls this, with the address of words on its own stack.
            let words = unsafe { &mut *words };
            let product = Product::of(words);
            if product.is_empty() {
                return 0;
            }
            const SIZE: u64 = size_of::<$ty>() as u64;
            if let Some((matrix, element)) = product.outside(SIZE) {
                words[0] = element;
                return matrix;
            }
            let address = |matrix: Matrix| (matrix.base + matrix.first * SIZE) as *mut $ty;
            let Product { c, a, b, rows, columns, depth, c_row, a_row, a_column, b_row, b_column } = product;
            let [rows, columns, depth] = [rows, columns, depth].map(|n| n as usize);
            let [c_row, a_row, a_column, b_row, b_column] =
                [c_row, a_row, a_column, b_row, b_column].map(|n| n as isize);
            // The function is made for results whose rows are neighbours. Those here have neighbouring columns, so it gets everything transposed: b first.
            // SAFETY: all elements of the three matrices are in their memories, as was just checked; those belong to the launch, which waits
            // for its threads. Strides have 32 bits.
            unsafe {
                $function(
                    columns,
                    rows,
                    depth,
                    address(c),
                    c_row,
                    1,
                    true,
                    address(b).cast_const(),
                    b_row,
                    b_column,
                    address(a).cast_const(),
                    a_row,
                    a_column,
                    1.0,
                    1.0,
                    false,
                    false,
                    false,
                    Parallelism::None,
                );
            }
            0
        }
    };
}

product!(single, f32, gemm_f32::gemm::f32::get_gemm_fn());
product!(double, f64, gemm_f64::gemm::f64::get_gemm_fn());
