//! The prelude: the types and functions that every program has without an import, written in Bend.
//!
//! What Bend itself has stands in `prelude/`, one file a topic, and its names belong to the language: no program may
//! define them again. What Girih adds stands in `prelude/girih/`; a program that was written without knowing of these
//! names and defines one of them itself gets its own.

macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("prelude/", $name, ".bend")))),*]
    };
}

/// The files of the prelude: name and text. They know each other's definitions without imports.
pub const FILES: &[(&str, &str)] = files![
    "string" "list" "nat" "result" "maybe" "tree" "map" "lazy" "number" "utf8" "math" "io" "fs"
    "girih/number" "girih/text" "girih/render"
];

/// Whether a program may define the names of this file again, so that its own definitions count.
pub fn is_overridable(file: &str) -> bool {
    file.starts_with("girih/")
}
