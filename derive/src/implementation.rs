//! The implementation of `Bend` for a type.

use crate::attributes;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Fields, Ident, Result, Type};

/// A constructor: a variant of an enum, or a struct.
struct Variant<'i> {
    /// How its values are written: `Self` or `Self::Name`.
    path: TokenStream,
    /// Its name in Bend; none for a struct, whose constructor is the only one.
    name: Option<String>,
    fields: &'i Fields,
}

/// The implementation of `Bend` for a struct or an enum.
pub fn implementation(input: &DeriveInput) -> Result<TokenStream> {
    let name = attributes::name(&input.attrs)?.unwrap_or_else(|| input.ident.unraw().to_string());
    let variants = variants(input)?;
    let shapes = variants.iter().map(shape).collect::<Result<Vec<_>>>()?;
    let gives = variants.iter().enumerate().map(give);
    let takes = variants.iter().enumerate().map(take);
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(::girih::typed::Bend));
    }
    let (ident, (for_impl, for_type, bounds)) = (&input.ident, generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #for_impl ::girih::typed::Bend for #ident #for_type #bounds {
            fn shape(
                ty: &::girih::typed::Type,
                planner: &mut ::girih::typed::Planner<'_>,
            ) -> ::core::result::Result<::girih::typed::Shape, ::girih::typed::Mismatch> {
                planner.data::<Self>(ty, #name, &[#(#shapes),*])
            }

            fn give<'girih>(
                &'girih self,
                to: &mut ::girih::typed::Giver<'girih>,
            ) -> ::core::result::Result<(), ::girih::typed::Misfit> {
                match self {
                    #(#gives)*
                }
            }

            fn take(
                seen: ::girih::typed::Seen,
                from: &mut ::girih::typed::Taker<'_>,
            ) -> ::core::result::Result<(), ::girih::typed::Misfit> {
                match from.variant(seen)? {
                    #(#takes)*
                    _ => ::core::result::Result::Err(from.misfit(seen)),
                }
            }
        }
    })
}

fn variants(input: &DeriveInput) -> Result<Vec<Variant<'_>>> {
    match &input.data {
        Data::Struct(data) => Ok(vec![Variant { path: quote!(Self), name: None, fields: &data.fields }]),
        Data::Enum(data) if data.variants.is_empty() => {
            Err(Error::new(input.ident.span(), "a type without values is no type of Bend"))
        }
        Data::Enum(data) => data
            .variants
            .iter()
            .map(|variant| {
                let ident = &variant.ident;
                let name = attributes::name(&variant.attrs)?.unwrap_or_else(|| ident.unraw().to_string());
                Ok(Variant { path: quote!(Self::#ident), name: Some(name), fields: &variant.fields })
            })
            .collect(),
        Data::Union(data) => Err(Error::new(data.union_token.span, "a union is no type of Bend: make it an `enum`")),
    }
}

/// What a variant is made of, as `Planner::data` is told.
fn shape(variant: &Variant<'_>) -> Result<TokenStream> {
    let name = option(variant.name.as_deref());
    let mut fields = vec![];
    for field in variant.fields {
        let (ty, own) = (&field.ty, field.ident.as_ref().map(|ident| ident.unraw().to_string()));
        fields.push(match attributes::name(&field.attrs)?.or(own) {
            Some(name) => quote!(::girih::typed::FieldOf::named::<#ty>(#name)),
            None => quote!(::girih::typed::FieldOf::unnamed::<#ty>()),
        });
    }
    Ok(quote!(::girih::typed::VariantOf { name: #name, fields: ::std::vec![#(#fields),*] }))
}

fn option(name: Option<&str>) -> TokenStream {
    match name {
        Some(name) => quote!(::core::option::Option::Some(#name)),
        None => quote!(::core::option::Option::None),
    }
}

/// Variables for the fields of a variant, and the pattern or the expression that has them.
fn bound(variant: &Variant<'_>) -> (Vec<Ident>, TokenStream) {
    let names: Vec<Ident> = (0..variant.fields.len()).map(|number| format_ident!("field{number}")).collect();
    let path = &variant.path;
    let whole = match variant.fields {
        Fields::Named(fields) => {
            let idents = fields.named.iter().map(|field| &field.ident);
            quote!(#path { #(#idents: #names),* })
        }
        Fields::Unnamed(_) => quote!(#path(#(#names),*)),
        Fields::Unit => quote!(#path),
    };
    (names, whole)
}

/// The arm that gives a variant.
fn give((number, variant): (usize, &Variant<'_>)) -> TokenStream {
    let (names, pattern) = bound(variant);
    quote!(#pattern => to.variant(#number, &[#(#names),*]),)
}

/// The arm that takes a variant.
fn take((number, variant): (usize, &Variant<'_>)) -> TokenStream {
    let (names, value) = bound(variant);
    let types: Vec<&Type> = variant.fields.iter().map(|field| &field.ty).collect();
    let pops = names.iter().zip(&types).rev().map(|(name, ty)| quote!(let #name = slots.pop::<#ty>()?;));
    quote! {
        #number => from.fields(#number, &[#(<#types as ::girih::typed::Bend>::take),*], |slots| {
            #(#pops)*
            slots.push::<Self>(#value)
        }),
    }
}
