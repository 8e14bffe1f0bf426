//! Groups of operations that only the passes of legalisation speak of; those of everybody are in [`ir::groups`](girih_ir::groups).

/// Neither accesses to memory nor operations of a subgroup.
macro_rules! no_access_or_communication {
    () => {
        arithmetic!()
            | control!()
            | aggregates!()
            | positions!()
            | barriers!()
            | fragments!()
            | asynchronous!()
            | task_form!()
            | masks!()
            | girih_ir::tile_operations!()
    };
}
/// What is no atomic access.
macro_rules! no_atomics {
    () => {
        subgroup_positions!()
            | votes!()
            | shuffles!()
            | reductions!()
            | scans!()
            | accesses!()
            | matrix_products!()
            | no_access_or_communication!()
    };
}
/// All that no subgroup does together.
macro_rules! not_of_a_subgroup {
    () => {
        subgroup_positions!() | accesses!() | atomics!() | matrix_products!() | no_access_or_communication!()
    };
}
