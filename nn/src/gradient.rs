//! Derivatives of tensors, by [`girih_tensor::differentiate()`].

use crate::error;
use crate::tensor::{Tensor, import};
use crate::trace::Trace;
use girih_base::diag::Diagnostic;
use girih_tensor::differentiate;
use std::panic::Location;
use std::sync::Arc;

impl Tensor {
    /// The derivatives of this one float with respect to others, one for each, in order. They are tensors like any others: they have derivatives, too.
    #[track_caller]
    pub fn grad(&self, by: &[&Tensor]) -> Vec<Tensor> {
        value_and_grad(self, by).1
    }
}

/// One float, and its derivatives with respect to others, which share what both need: the float is this one, written again beside them.
#[track_caller]
pub fn value_and_grad(of: &Tensor, by: &[&Tensor]) -> (Tensor, Vec<Tensor>) {
    let place = Location::caller();
    match written(of, by, place) {
        Ok(all) => all,
        Err(mistake) => {
            let broken = Tensor::failed(of.device(), mistake);
            (broken.clone(), vec![broken; by.len()])
        }
    }
}

fn written(of: &Tensor, by: &[&Tensor], place: &Location<'_>) -> Result<(Tensor, Vec<Tensor>), Diagnostic> {
    let mut trace = Trace::default();
    for wanted in by {
        trace.input(wanted)?;
    }
    let is_wanted = |tensor: &Tensor| by.iter().any(|wanted| Arc::ptr_eq(&wanted.0, &tensor.0));
    let id = trace.write(of, is_wanted)?;
    trace.graph.outputs.push(id);
    let position = |wanted: &&Tensor| trace.inputs.iter().position(|input| Arc::ptr_eq(&input.0, &wanted.0));
    let positions: Vec<usize> = by.iter().filter_map(position).collect();
    let graph = differentiate(&trace.graph, 0, &positions).map_err(|mistake| error::placed(mistake, place))?;
    let mut all = import(of.device(), &graph, &trace.inputs, &graph.outputs);
    let derivatives = all.split_off(1);
    Ok((all.remove(0), derivatives))
}
