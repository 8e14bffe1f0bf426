//! Names of architectures are read and written.

use girih_ir::nvidia::Target;

#[test]
fn names_of_targets() {
    for name in ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100"] {
        assert_eq!(Target::from_name(name).map(|t| t.to_string()).as_deref(), Some(name));
    }
    for name in ["sm_70", "sm_80a", "sm_", "gfx942", "sm_9x"] {
        assert_eq!(Target::from_name(name), None, "{name}");
    }
}
