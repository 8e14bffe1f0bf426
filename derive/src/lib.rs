//! Macros that write implementations for a program's types: `#[derive(Bend)]`, a struct or an enum of Rust as a data type of Bend, and `#[derive(Module)]`, a struct
//! as a part of a network.
//!
//! The first writes what the type is made of, by names; whether the program has such a type is found out when a function is looked up.

mod attributes;
mod implementation;
mod module;

use proc_macro::TokenStream;
use syn::DeriveInput;

/// Makes a struct a Bend type with one constructor, and an enum one with constructors of the same names.
///
/// Fields that have names in Rust are those of these names in Bend, in any order; fields without names stand for those at the same place. `#[bend(name = "..")]`
/// before the type, a variant or a field says what it is called in Bend, where that is something else. No two variants, and no two fields of one, have the same
/// name there. A type may contain itself in a `Box`, a `Deep` or a `Vec`.
///
/// The code names the crate as `::girih`. `#[bend(crate = path)]` before the type says where it is instead.
#[proc_macro_derive(Bend, attributes(bend))]
pub fn derive_bend(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    implementation::implementation(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes a struct a module of a network: its parts are its fields, by their names.
///
/// `#[module(skip)]` before a field says that it has no parameters: a number, say. The code names the crate as `::girih`; `#[module(crate = path)]` before the type says where
/// the module `nn` of tensors is instead of in `::girih::tensor`.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    module::implementation(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
