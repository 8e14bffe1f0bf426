//! The reference machine: runs kernels workgroup by workgroup, all invocations of a workgroup in step under masks.
