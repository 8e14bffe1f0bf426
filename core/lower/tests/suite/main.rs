//! The tests of `girih-lower`, in one program.

mod calls {
    mod inline;
}
mod launch {
    mod buffer_offsets;
    mod packed;
}
mod legalise;
mod simplify;
mod tile;
