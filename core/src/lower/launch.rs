//! The host's part of a launch: arguments checked, derived parameters computed, the grid folded.

use super::entry::{Entry, Plan, PlannedGrid};
use crate::diag::Diagnostic;
use crate::runtime::{Argument, Grid};

pub(super) fn plan(_entry: &Entry, _arguments: &[Argument], _grid: Grid) -> Result<Plan, Diagnostic> {
    Ok(Plan { grid: PlannedGrid::Workgroups([0; 3]), parameters: vec![], dynamic_shared: vec![] })
}
