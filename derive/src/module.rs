//! The implementation of `Module` for a struct: its fields are its parts.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Attribute, Data, DeriveInput, Error, Path, Result};

/// The implementation of `Module` for a struct.
pub fn implementation(input: &DeriveInput) -> Result<TokenStream> {
    let krate = said(&input.attrs, true)?.krate.map_or_else(|| quote!(::girih::tensor), |path| quote!(#path));
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "a module is a struct: an enum or a union has no parts of its own"));
    };
    let mut parts = vec![];
    for (number, field) in data.fields.iter().enumerate() {
        if said(&field.attrs, false)?.is_skipped {
            continue;
        }
        let name = field.ident.as_ref().map_or_else(|| number.to_string(), |ident| ident.unraw().to_string());
        let member = field.ident.clone().map_or_else(|| syn::Member::Unnamed(number.into()), syn::Member::Named);
        parts.push(quote!((::std::string::String::from(#name), &self.#member as &dyn #krate::nn::Module)));
    }
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(#krate::nn::Module));
    }
    let (ident, (for_impl, for_type, bounds)) = (&input.ident, generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #for_impl #krate::nn::Module for #ident #for_type #bounds {
            fn parts(&self) -> ::std::vec::Vec<(::std::string::String, &dyn #krate::nn::Module)> {
                ::std::vec![#(#parts),*]
            }
        }
    })
}

/// What is said before a type or a field.
#[derive(Default)]
struct Said {
    krate: Option<Path>,
    is_skipped: bool,
}

fn said(attributes: &[Attribute], is_type: bool) -> Result<Said> {
    let mut said = Said::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if is_type && meta.path.is_ident("crate") {
                said.krate = Some(meta.value()?.call(Path::parse_mod_style)?);
                return Ok(());
            }
            if !is_type && meta.path.is_ident("skip") {
                said.is_skipped = true;
                return Ok(());
            }
            let known = if is_type { "`#[module(crate = path)]`" } else { "`#[module(skip)]`" };
            Err(meta.error(format!("write {known}")))
        })?;
    }
    Ok(said)
}
