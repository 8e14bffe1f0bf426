//! Matrix products of a warpgroup (`wgmma`): 128 invocations, factors in shared memory, sums in registers.

use super::activation::{Handle, Origin};
use super::checks::{Access, Reason, Row};
use super::code::Step;
use super::fault::Fault;
use super::fragments::accumulate;
use super::machine::Machine;
use super::memory::read;
use girih_base::diag::Code;
use girih_ir::attrs::{Attr, SharedMatrix};
use girih_ir::types::{MatrixShape, Scalar};

/// Invocations of a warpgroup.
pub(super) const WARPGROUP: usize = 128;

/// The (row, column) of the 64 x N sums that element `i` of an invocation's accumulator is: `thread` counts the invocations of the
/// warpgroup, 32 to a warp; a warp has 16 rows. This is the layout of `wgmma.mma_async`'s matrix D.
pub fn accumulator_element(thread: usize, i: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    let row = 16 * warp + lane / 4 + 8 * (i / 2 % 2);
    let column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
    (row, column)
}

/// The byte of shared memory where element (`outer`, `depth`) of a factor lies: `outer` is the row of the left or the column of the
/// right factor. `start` is the byte of element (0, 0).
///
/// Matrices are made of rows of eight 16-byte chunks or fewer. K-major, a row of depth 8 (without swizzle) or of `swizzle` bytes
/// belongs to one `outer`; eight of them make a group, and groups are `stride` bytes apart; without swizzle the two chunks of
/// depth 16 are `leading` bytes apart. Otherwise a row runs along `outer`: `swizzle` bytes of it stand together for each of eight
/// depths, the next ones are `leading` bytes apart, the next eight depths `stride` bytes; without swizzle the two change
/// places. Swizzling exchanges chunks by the address itself: bits 4 to 6 are xored with bits 7 to 9 (as many as the swizzle has).
pub fn factor_byte(start: u64, matrix: &SharedMatrix, outer: u64, depth: u64) -> u64 {
    const ELEMENT: u64 = 2;
    const CHUNK: u64 = 8;
    let (leading, stride, row) = (u64::from(matrix.leading), u64::from(matrix.stride), u64::from(matrix.swizzle));
    let linear = match (matrix.k_major, row) {
        (true, 0) => outer % 8 * 16 + outer / 8 * stride + depth / CHUNK * leading + depth % CHUNK * ELEMENT,
        (true, _) => outer % 8 * row + outer / 8 * stride + depth * ELEMENT,
        (false, 0) => outer % CHUNK * ELEMENT + outer / CHUNK * stride + depth % 8 * 16 + depth / 8 * leading,
        (false, _) => {
            let (within, block) = (outer % (row / ELEMENT), outer / (row / ELEMENT));
            within * ELEMENT + block * leading + depth % 8 * row + depth / 8 * stride
        }
    };
    let address = start + linear;
    let bits = (row / 16).saturating_sub(1);
    address ^ (address >> 3 & bits << 4)
}

/// A product under way.
#[derive(Clone, Debug)]
struct Product {
    warpgroup: usize,
    group: u32,
    origin: Origin,
    /// What it reads: first byte and length.
    reads: Vec<(u64, u64)>,
}

/// What the warpgroups of a workgroup have under way.
#[derive(Debug, Default)]
pub(super) struct Products {
    under_way: Vec<Product>,
    /// How many groups each warpgroup has committed.
    groups: Vec<u32>,
    /// Whether its registers are ordered before the next product.
    fenced: Vec<bool>,
}

impl Products {
    /// Nothing is under way.
    pub(super) fn clear(&mut self, lanes: usize) {
        let count = lanes.div_ceil(WARPGROUP);
        self.under_way.clear();
        self.groups.clear();
        self.groups.resize(count, 0);
        self.fenced.clear();
        self.fenced.resize(count, false);
    }
}

/// A factor of a step, found.
struct Factor {
    matrix: SharedMatrix,
    start: u64,
    handle: Handle,
    operand: usize,
}

impl Machine<'_> {
    /// The warpgroups that run, each whole.
    fn warpgroups(&self, step: &Step) -> Result<Vec<usize>, Fault> {
        let mut found: Vec<usize> = vec![];
        for lane in self.mask.iter() {
            if found.last() != Some(&(lane / WARPGROUP)) {
                found.push(lane / WARPGROUP);
            }
        }
        let missing = found.iter().flat_map(|w| w * WARPGROUP..(w + 1) * WARPGROUP).find(|lane| !self.mask.has(*lane));
        match missing {
            None => Ok(found),
            Some(missing) => {
                let who =
                    if missing < self.team.lanes { self.invocation(missing) } else { "those that it lacks".into() };
                let message = format!(
                    "{} needs all 128 invocations of a warpgroup, but is not reached by {who}",
                    self.operation(step)
                );
                let hint = "make the workgroup a multiple of 128, and the condition the same for each 128";
                Err(self.fault(Code::NotTogether, step, message).hint(hint).into())
            }
        }
    }

    pub(super) fn wgmma_fence(&mut self, step: &Step) -> Result<(), Fault> {
        for warpgroup in self.warpgroups(step)? {
            self.products.fenced[warpgroup] = true;
        }
        Ok(())
    }

    pub(super) fn wgmma_commit(&mut self, step: &Step) -> Result<(), Fault> {
        for warpgroup in self.warpgroups(step)? {
            self.products.groups[warpgroup] += 1;
        }
        Ok(())
    }

    pub(super) fn wgmma(&mut self, step: &Step) -> Result<(), Fault> {
        let inst = self.inst(step);
        let shape = inst.attrs.iter().find_map(|a| if let Attr::Shape(s) = a { Some(*s) } else { None });
        let a = inst.attrs.iter().find_map(|a| if let Attr::MatrixA(m) = a { Some(*m) } else { None });
        let b = inst.attrs.iter().find_map(|a| if let Attr::MatrixB(m) = a { Some(*m) } else { None });
        let (Some(shape), Some(a), Some(b)) = (shape, a, b) else {
            let message = format!("{} does not say its shape and matrices", self.operation(step));
            return Err(self.fault(Code::Internal, step, message).into());
        };
        let source_offset = inst.source_offset().into();
        for operand in [2, 4] {
            self.same(step, operand, WARPGROUP)?;
            self.defined(step, operand, "says where a matrix lies")?;
        }
        for warpgroup in self.warpgroups(step)? {
            let a = self.factor(step, warpgroup, (1, step.offset), a)?;
            let b = self.factor(step, warpgroup, (3, source_offset), b)?;
            let mut reads = self.reads(step, warpgroup, &a, u64::from(shape.m))?;
            reads.extend(self.reads(step, warpgroup, &b, u64::from(shape.n))?);
            self.accumulators(step, warpgroup)?;
            self.multiply(step, warpgroup, shape, &a, &b);
            self.start(step, warpgroup, reads);
        }
        Ok(())
    }

    fn factor(
        &self,
        step: &Step,
        warpgroup: usize,
        (operand, offset): (usize, i64),
        matrix: SharedMatrix,
    ) -> Result<Factor, Fault> {
        let lane = warpgroup * WARPGROUP;
        let handle = self.handle(step, operand);
        let index = i128::from(self.activation.values[step.operands[operand + 1].offset + lane]) + i128::from(offset);
        let count = handle.bytes / 2;
        if index < 0 || index >= i128::from(count) {
            return Err(self.outside(step, operand, lane, index, count, 2).into());
        }
        Ok(Factor { matrix, start: handle.start + index as u64 * 2, handle, operand })
    }

    /// Checks what a factor reads; gives chunks of 16 bytes.
    fn reads(&mut self, step: &Step, warpgroup: usize, factor: &Factor, outer: u64) -> Result<Vec<(u64, u64)>, Fault> {
        let lane = warpgroup * WARPGROUP;
        let mut chunks = std::collections::BTreeSet::new();
        for (outer, depth) in (0..outer).flat_map(|outer| (0..16).map(move |depth| (outer, depth))) {
            chunks.insert(factor_byte(factor.start, &factor.matrix, outer, depth) & !15);
        }
        let (first, end) = (factor.handle.start, factor.handle.start + factor.handle.bytes);
        for chunk in &chunks {
            if *chunk < first || chunk + 16 > end {
                let element = (i128::from(*chunk) - i128::from(first)) / 2;
                return Err(self.outside(step, factor.operand, lane, element, factor.handle.bytes / 2, 2).into());
            }
            self.touch(step, factor.operand, factor.handle, lane, (*chunk, 16), Access::Read)?;
            let Some(checks) = &self.checks else { continue };
            let origin = checks.shared_origin(factor.handle, *chunk, 16);
            if origin != 0 {
                let what = format!("the matrix in {}", self.operand(step, factor.operand));
                return Err(self.undefined(step, lane, &what, checks.row(origin)).into());
            }
            if checks.is_unfenced(*chunk, 16) {
                let message = format!(
                    "{} reads {}, which was written without a `fence.async` after it",
                    self.operation(step),
                    self.operand(step, factor.operand)
                );
                let hint = "the invocations that write must run `fence.async` before the barrier";
                return Err(self.fault_of(Code::MissingFence, step, lane, message).hint(hint).into());
            }
        }
        Ok(chunks.into_iter().map(|chunk| (chunk, 16)).collect())
    }

    /// Checks that the accumulators may be used: they come from a product, or a `wgmma.fence` lies before.
    fn accumulators(&self, step: &Step, warpgroup: usize) -> Result<(), Fault> {
        let Some(checks) = &self.checks else { return Ok(()) };
        let acc = step.operands[0];
        let lane = warpgroup * WARPGROUP;
        let origin = self.activation.origins[acc.offset + lane];
        let product = origin != 0 && checks.row(origin).reason == Reason::Product;
        if origin != 0 && !product {
            return Err(self.undefined(step, lane, "the accumulator", checks.row(origin)).into());
        }
        if !product && !self.products.fenced[warpgroup] {
            let message = format!("{} adds to registers without a `wgmma.fence` before it", self.operation(step));
            let hint = "put `wgmma.fence` between what writes the accumulators and the first product";
            return Err(self.fault_of(Code::MissingFence, step, lane, message).hint(hint).into());
        }
        Ok(())
    }

    fn multiply(&mut self, step: &Step, warpgroup: usize, shape: MatrixShape, a: &Factor, b: &Factor) {
        let ty = step.ty.element().unwrap_or(Scalar::F16);
        let shared = &self.memories.shared;
        let column = |factor: &Factor, outer: u64| -> [u64; 16] {
            std::array::from_fn(|k| {
                let byte = factor_byte(factor.start, &factor.matrix, outer, k as u64);
                read(shared, byte as usize, 2)
            })
        };
        let left: Vec<[u64; 16]> = (0..shape.m.into()).map(|row| column(a, row)).collect();
        let right: Vec<[u64; 16]> = (0..shape.n.into()).map(|n| column(b, n)).collect();
        let (acc, result, lanes) = (step.operands[0], step.results[0], self.team.lanes);
        for thread in 0..WARPGROUP {
            let lane = warpgroup * WARPGROUP + thread;
            for i in 0..result.components {
                let (row, column) = accumulator_element(thread, i);
                let c = self.activation.values[acc.offset + i * lanes + lane];
                let factors = left[row].iter().copied().zip(right[column]);
                self.activation.values[result.offset + i * lanes + lane] = accumulate(c, Scalar::F32, factors, ty);
            }
        }
    }

    /// The product is under way until a wait covers it.
    fn start(&mut self, step: &Step, warpgroup: usize, reads: Vec<(u64, u64)>) {
        let span = self.inst(step).span;
        let Some(checks) = &mut self.checks else { return };
        let origin = checks.new_origin(Row { reason: Reason::Product, span });
        reads.iter().for_each(|(address, bytes)| checks.set_reading(*address, *bytes, true));
        let (result, lanes) = (step.results[0], self.team.lanes);
        for i in 0..result.components {
            let first = result.offset + i * lanes + warpgroup * WARPGROUP;
            self.activation.origins[first..first + WARPGROUP].fill(origin);
        }
        let group = self.products.groups[warpgroup];
        self.products.under_way.push(Product { warpgroup, group, origin, reads });
    }

    pub(super) fn wgmma_wait(&mut self, step: &Step) -> Result<(), Fault> {
        let pairs = step.operands.iter().copied().zip(step.results.iter().copied()).collect();
        self.moves(&super::code::Moves { pairs, overlap: false });
        let pending = self.inst(step).pending();
        for warpgroup in self.warpgroups(step)? {
            if !step.operands.is_empty() {
                self.products.fenced[warpgroup] = false;
            }
            let Some(checks) = &mut self.checks else { continue };
            let done = self.products.groups[warpgroup].saturating_sub(pending);
            self.products.under_way.retain(|product| {
                let finished = product.warpgroup == warpgroup && product.group < done;
                if finished {
                    product.reads.iter().for_each(|(address, bytes)| checks.set_reading(*address, *bytes, false));
                }
                !finished
            });
        }
        self.finish(step);
        Ok(())
    }

    /// Results of a wait are defined unless they belong to products that are still under way.
    fn finish(&mut self, step: &Step) {
        let Some(checks) = self.checks.as_ref().filter(|checks| checks.poisoned) else { return };
        let (origins, under_way) = (&mut self.activation.origins, &self.products.under_way);
        for slot in &step.results {
            super::machine::places(*slot, &self.mask, self.team, |place| {
                let origin = origins[place];
                let product = origin != 0 && checks.row(origin).reason == Reason::Product;
                if product && under_way.iter().all(|p| p.origin != origin) {
                    origins[place] = 0;
                }
            });
        }
    }
}
