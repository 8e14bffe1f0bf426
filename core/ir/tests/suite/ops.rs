//! The pattern of an operation family has the operations that the table gives the family.

use girih_ir::ops::Family;
use girih_ir::{Op, tile_operations};

#[test]
fn the_pattern_of_tile_operations_is_the_family() {
    for op in Op::ALL {
        assert_eq!(matches!(op, tile_operations!()), op.row().family == Family::Tile, "{}", op.name());
    }
}
