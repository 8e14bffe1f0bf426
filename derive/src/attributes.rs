//! `#[bend(name = "..")]`.

use syn::{Attribute, Error, LitStr, Result};

/// What something is called in Bend, if that is said.
pub fn name(attributes: &[Attribute]) -> Result<Option<String>> {
    let mut found: Option<String> = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("bend")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("`bend` knows only `name`: write `#[bend(name = \"..\")]`"));
            }
            let text: LitStr = meta.value()?.parse()?;
            if text.value().is_empty() {
                return Err(Error::new(text.span(), "a name in Bend is not empty"));
            }
            if found.replace(text.value()).is_some() {
                return Err(meta.error("it has one name in Bend"));
            }
            Ok(())
        })?;
    }
    Ok(found)
}
