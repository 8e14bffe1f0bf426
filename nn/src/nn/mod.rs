//! Modules: parts of networks that hold parameters.
//!
//! A module is a struct of modules. `#[derive(Module)]` says so; [`Module::parameters`] then finds all parameters with their paths, `conv1.weight`, which are their names in
//! files of weights, too. How a module computes is a method of its own, because modules take different arguments.
//!
//! | file | module |
//! |---|---|
//! | `linear` | [`Linear`] |
//! | `conv` | [`Conv2d`] |
//! | `norm` | [`LayerNorm`], [`RmsNorm`], [`BatchNorm2d`] |
//! | `embedding` | [`Embedding`] |
//! | `dropout` | [`Dropout`] |
//! | `attention` | [`Attention`] |

mod attention;
mod conv;
mod dropout;
mod embedding;
mod linear;
mod norm;

pub use attention::Attention;
pub use conv::Conv2d;
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use linear::Linear;
pub use norm::{BatchNorm2d, LayerNorm, RmsNorm};

use crate::tensor::Tensor;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    /// How many times this thread has changed parameters: a traced function must not.
    static CHANGES: Cell<u64> = const { Cell::new(0) };
}

/// A tensor that training changes. Clones are the same parameter.
#[derive(Clone, Debug)]
pub struct Parameter(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    value: Mutex<Tensor>,
    is_trained: bool,
}

impl Parameter {
    /// A parameter that an optimiser changes by its derivative.
    pub fn new(value: Tensor) -> Parameter {
        Parameter(Arc::new(Kept { value: Mutex::new(value), is_trained: true }))
    }
    /// A tensor that is kept with a module and that the module changes by itself: the mean of batches seen so far.
    pub fn untrained(value: Tensor) -> Parameter {
        Parameter(Arc::new(Kept { value: Mutex::new(value), is_trained: false }))
    }
    /// What it is now.
    pub fn get(&self) -> Tensor {
        self.0.value.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// Changes it.
    pub fn set(&self, value: Tensor) {
        CHANGES.set(CHANGES.get() + 1);
        *self.0.value.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }
    /// How many times this thread has changed parameters.
    pub(crate) fn changes() -> u64 {
        CHANGES.get()
    }
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
    /// Whether an optimiser changes it.
    pub fn is_trained(&self) -> bool {
        self.0.is_trained
    }
    /// Whether both are the same parameter.
    pub fn is(&self, other: &Parameter) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What holds parameters.
pub trait Module {
    /// The modules that it is made of, by their names.
    fn parts(&self) -> Vec<(String, &dyn Module)>;
    /// The parameter that it is itself.
    fn parameter(&self) -> Option<&Parameter> {
        None
    }
    /// All its parameters by their paths, in order. One that is there twice has two paths.
    fn paths(&self) -> Vec<(String, Parameter)> {
        let mut all: Vec<(String, Parameter)> =
            self.parameter().map(|own| (String::new(), own.clone())).into_iter().collect();
        for (name, part) in self.parts() {
            all.extend(part.paths().into_iter().map(|(path, parameter)| {
                let path = if path.is_empty() { name.clone() } else { format!("{name}.{path}") };
                (path, parameter)
            }));
        }
        all
    }
    /// All its parameters by their paths, in order. One that is there twice is listed once, by its first path.
    fn parameters(&self) -> Vec<(String, Parameter)> {
        let mut known = HashSet::new();
        self.paths().into_iter().filter(|(_, parameter)| known.insert(parameter.address())).collect()
    }
}

impl Module for Parameter {
    fn parts(&self) -> Vec<(String, &dyn Module)> {
        vec![]
    }
    fn parameter(&self) -> Option<&Parameter> {
        Some(self)
    }
}
impl<M: Module> Module for Vec<M> {
    fn parts(&self) -> Vec<(String, &dyn Module)> {
        self.iter().enumerate().map(|(number, part)| (number.to_string(), part as &dyn Module)).collect()
    }
}
impl<M: Module> Module for Option<M> {
    fn parts(&self) -> Vec<(String, &dyn Module)> {
        self.as_ref().map_or(vec![], Module::parts)
    }
    fn parameter(&self) -> Option<&Parameter> {
        self.as_ref().and_then(Module::parameter)
    }
}

/// Writes [`Module`] for a struct of this crate with these fields.
macro_rules! module {
    ($name:ident { $($field:ident),* }) => {
        impl crate::nn::Module for $name {
            fn parts(&self) -> Vec<(String, &dyn crate::nn::Module)> {
                vec![$((stringify!($field).to_owned(), &self.$field as &dyn crate::nn::Module)),*]
            }
        }
    };
}
pub(crate) use module;
