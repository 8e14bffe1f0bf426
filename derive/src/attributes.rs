//! `#[bend(name = "..")]`, and before a type `#[bend(crate = path)]`.

use proc_macro2::Span;
use syn::{Attribute, Error, LitStr, Path, Result};

/// What is said before something.
#[derive(Default)]
pub struct Attributes {
    /// What it is called in Bend, and where that is said.
    pub name: Option<(String, Span)>,
    /// The crate `girih`, where it is called something else.
    pub krate: Option<Path>,
}

/// What is said before a type.
pub fn of_type(attributes: &[Attribute]) -> Result<Attributes> {
    read(attributes, true)
}

/// What a variant or a field is called in Bend, if that is said.
pub fn name(attributes: &[Attribute]) -> Result<Option<(String, Span)>> {
    read(attributes, false).map(|found| found.name)
}

fn read(attributes: &[Attribute], is_type: bool) -> Result<Attributes> {
    let mut found = Attributes::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("bend")) {
        attribute.parse_nested_meta(|meta| {
            if is_type && meta.path.is_ident("crate") {
                let value = meta.value()?;
                // A path, or as others write it a text of one.
                let path = match value.peek(LitStr) {
                    true => value.parse::<LitStr>()?.parse_with(Path::parse_mod_style)?,
                    false => value.call(Path::parse_mod_style)?,
                };
                return match found.krate.replace(path) {
                    Some(_) => Err(meta.error("there is one crate `girih`")),
                    None => Ok(()),
                };
            }
            if !meta.path.is_ident("name") {
                let more = if is_type { " and `crate`: write `#[bend(crate = path)]` or" } else { ": write" };
                return Err(meta.error(format!("`bend` knows only `name`{more} `#[bend(name = \"..\")]`")));
            }
            let text: LitStr = meta.value()?.parse()?;
            if text.value().is_empty() {
                return Err(Error::new(text.span(), "a name in Bend is not empty"));
            }
            if found.name.replace((text.value(), text.span())).is_some() {
                return Err(meta.error("it has one name in Bend"));
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// Refuses names of which one stands for two.
pub fn each_once<'n>(names: impl IntoIterator<Item = &'n (String, Span)>, what: &str) -> Result<()> {
    let mut seen: Vec<&str> = vec![];
    for (name, span) in names {
        if seen.contains(&name.as_str()) {
            return Err(Error::new(*span, format!("a second {what} is called `{name}` in Bend")));
        }
        seen.push(name);
    }
    Ok(())
}

/// A name of Rust, which is the same in Bend unless something else is said.
pub fn named(ident: &syn::Ident, said: Option<(String, Span)>) -> (String, Span) {
    use syn::ext::IdentExt;
    said.unwrap_or_else(|| (ident.unraw().to_string(), ident.span()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_crate_are_read() {
        let said = |attribute: Attribute| of_type(&[attribute]).map(|found| found.krate);
        for attribute in [
            syn::parse_quote!(#[bend(crate = crate::engine::girih)]),
            syn::parse_quote!(#[bend(crate = "crate::engine::girih")]),
        ] {
            let path: Path = syn::parse_quote!(crate::engine::girih);
            assert_eq!(said(attribute).ok().flatten().map(|found| found.segments.len()), Some(path.segments.len()));
        }
        let attribute: Attribute = syn::parse_quote!(#[bend(crate = other)]);
        assert!(name(&[attribute]).is_err(), "only a type says it");
    }
}
