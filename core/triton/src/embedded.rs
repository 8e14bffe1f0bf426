//! The part of Triton's library that is written in Triton's own Python: the files, and the modules that they stand for.
//!
//! Invariant: their places are in no file of the user. A mistake that comes up in them is said at the call that the user wrote.

/// The files: name and text.
pub(super) const FILES: &[(&str, &str)] = &[
    ("standard", include_str!("embedded/standard.py")),
    ("rounding", include_str!("embedded/rounding.py")),
    ("bits", include_str!("embedded/bits.py")),
    ("functions", include_str!("embedded/functions.py")),
    ("special", include_str!("embedded/special.py")),
    ("scaled", include_str!("embedded/scaled.py")),
    ("triton_helpers", include_str!("embedded/triton_helpers.py")),
];

/// Modules of other projects that kernels import, and the files that stand for them.
const MODULES: &[(&str, &str)] = &[
    ("torch._inductor.runtime.triton_helpers", "triton_helpers"),
    ("torch._inductor.runtime.triton_compat", "triton_helpers"),
    ("torch._inductor.triton_helpers", "triton_helpers"),
];

/// The text of a file.
pub(super) fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The file that stands for a module.
pub(super) fn of_module(path: &str) -> Option<&'static str> {
    MODULES.iter().find(|(known, _)| *known == path).map(|(_, file)| *file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih_base::span::Span;

    #[test]
    fn files_are_python() {
        for (name, text) in FILES {
            assert!(crate::python::parse(Span::NONE.source, text).is_ok(), "{name}");
        }
    }
}
