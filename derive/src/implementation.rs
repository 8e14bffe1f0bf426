//! The implementation of `Bend` for a type.

use crate::attributes::{self, Attributes};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
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
    let Attributes { name, krate } = attributes::of_type(&input.attrs)?;
    let (name, _) = attributes::named(&input.ident, name);
    let krate = krate.map_or_else(|| quote!(::girih), |path| quote!(#path));
    let variants = variants(input)?;
    let shapes = variants.iter().map(|variant| shape(variant, &krate)).collect::<Result<Vec<_>>>()?;
    let gives = variants.iter().enumerate().map(give);
    let takes = variants.iter().enumerate().map(|variant| take(variant, &krate));
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(#krate::typed::Bend));
    }
    let (ident, (for_impl, for_type, bounds)) = (&input.ident, generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #for_impl #krate::typed::Bend for #ident #for_type #bounds {
            fn shape(
                ty: &#krate::typed::Type,
                planner: &mut #krate::typed::Planner<'_>,
            ) -> ::core::result::Result<#krate::typed::Shape, #krate::typed::Mismatch> {
                planner.data::<Self>(ty, #name, &[#(#shapes),*])
            }

            fn give<'girih>(
                &'girih self,
                to: &mut #krate::typed::Giver<'girih>,
            ) -> ::core::result::Result<(), #krate::typed::Misfit> {
                match self {
                    #(#gives)*
                }
            }

            fn take(
                seen: #krate::typed::Seen,
                from: &mut #krate::typed::Taker<'_>,
            ) -> ::core::result::Result<(), #krate::typed::Misfit> {
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
        Data::Enum(data) => {
            let name = |variant: &syn::Variant| {
                attributes::name(&variant.attrs).map(|said| attributes::named(&variant.ident, said))
            };
            let names = data.variants.iter().map(name).collect::<Result<Vec<_>>>()?;
            attributes::each_once(&names, "variant")?;
            let mut variants = vec![];
            for (variant, (name, _)) in data.variants.iter().zip(names) {
                let ident = &variant.ident;
                variants.push(Variant { path: quote!(Self::#ident), name: Some(name), fields: &variant.fields });
            }
            Ok(variants)
        }
        Data::Union(data) => Err(Error::new(data.union_token.span, "a union is no type of Bend: make it an `enum`")),
    }
}

/// What a variant is made of, as `Planner::data` is told.
fn shape(variant: &Variant<'_>, krate: &TokenStream) -> Result<TokenStream> {
    let name = option(variant.name.as_deref());
    let (mut fields, mut names) = (vec![], vec![]);
    for field in variant.fields {
        let (ty, said) = (&field.ty, attributes::name(&field.attrs)?);
        let named = match &field.ident {
            Some(ident) => Some(attributes::named(ident, said)),
            None => said,
        };
        names.extend(named.clone());
        fields.push(match named {
            Some((name, _)) => quote!(#krate::typed::FieldOf::named::<#ty>(#name)),
            None => quote!(#krate::typed::FieldOf::unnamed::<#ty>()),
        });
    }
    attributes::each_once(&names, "field")?;
    Ok(quote!(#krate::typed::VariantOf { name: #name, fields: ::std::vec![#(#fields),*] }))
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
fn take((number, variant): (usize, &Variant<'_>), krate: &TokenStream) -> TokenStream {
    let (names, value) = bound(variant);
    let types: Vec<&Type> = variant.fields.iter().map(|field| &field.ty).collect();
    let pops = names.iter().zip(&types).rev().map(|(name, ty)| quote!(let #name = slots.pop::<#ty>()?;));
    quote! {
        #number => from.fields(#number, &[#(<#types as #krate::typed::Bend>::take),*], |slots| {
            #(#pops)*
            slots.push::<Self>(#value)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn wrong(input: DeriveInput) -> String {
        implementation(&input).expect_err("it is wrong").to_string()
    }

    #[test]
    fn one_name_for_two_is_refused() {
        let variants = wrong(parse_quote! {
            enum Colour {
                Red,
                #[bend(name = "Red")]
                Scarlet,
            }
        });
        assert_eq!(variants, "a second variant is called `Red` in Bend");
        let fields = wrong(parse_quote! {
            struct Point {
                #[bend(name = "y")]
                x: f32,
                y: f32,
            }
        });
        assert_eq!(fields, "a second field is called `y` in Bend");
        assert!(
            wrong(parse_quote!(
                #[bend(nam = "X")]
                struct Point;
            ))
            .contains("`name` and `crate`")
        );
    }

    #[test]
    fn the_crate_may_be_called_something_else() {
        let input: DeriveInput = parse_quote! {
            #[bend(crate = crate::engine)]
            enum Chain<T> {
                End,
                Link { value: T, rest: Box<Chain<T>> },
            }
        };
        let written = implementation(&input).expect("it is right").to_string();
        assert!(!written.contains(":: girih"), "{written}");
        assert!(written.contains("impl < T : crate :: engine :: typed :: Bend >"), "{written}");
    }
}
