//! The machine code that PTX becomes, by the disassembler: what was asked for is there, and nothing goes through local memory.

use super::assembler::{TARGETS, assemble, target, tool};
use super::support::{kernel, kernels, rendered, told, try_render};
use girih_cuda::ptx::{Launches, Ptx};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The assembler, the disassembler and a folder.
struct Tools {
    ptxas: PathBuf,
    nvdisasm: PathBuf,
    folder: tempfile::TempDir,
}

impl Tools {
    fn find() -> Option<Tools> {
        let (ptxas, nvdisasm) = (tool("GIRIH_PTXAS", "ptxas")?, tool("GIRIH_NVDISASM", "nvdisasm")?);
        Some(Tools { ptxas, nvdisasm, folder: tempfile::tempdir().expect("a temporary folder") })
    }

    /// Machine code as text, without addresses: one instruction a line.
    fn code(&self, ptx: &Ptx) -> Vec<String> {
        let cubin = assemble(&self.ptxas, ptx, self.folder.path());
        let cubin = cubin.unwrap_or_else(|said| panic!("it assembles: {said:?}"));
        let text = disassembled(&self.nvdisasm, &cubin);
        let instruction = |line: &str| {
            let (_, code) = line.split_once("*/")?;
            line.trim_start().starts_with("/*").then(|| code.trim().trim_end_matches(';').trim().to_owned())
        };
        text.lines().filter_map(instruction).collect()
    }
}

fn disassembled(nvdisasm: &Path, cubin: &Path) -> String {
    let output = Command::new(nvdisasm).arg("-c").arg(cubin).output().expect("the disassembler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How many instructions begin with this name.
fn count(code: &[String], name: &str) -> usize {
    code.iter().filter(|line| line.split_whitespace().any(|word| word.starts_with(name))).count()
}

/// One kernel of a text, by its name, with what stands before the first kernel.
fn one(text: &str, name: &str) -> String {
    let kernels = text.split("\nkernel ").skip(1);
    let wanted = kernels.into_iter().find(|k| k.starts_with(&format!("@{name}(")));
    format!("kernel {}", wanted.unwrap_or_else(|| panic!("there is a kernel @{name}")))
}

#[test]
fn wide_accesses_are_one_instruction() {
    let Some(tools) = Tools::find() else { return };
    let text = one(&kernel("memory.gir"), "copy16");
    for architecture in TARGETS {
        let code = tools.code(&rendered("copy16", &text, target(architecture)));
        assert_eq!(count(&code, "LDG.E.EF.128.CONSTANT"), 1, "{architecture}: {code:#?}");
        assert_eq!(count(&code, "STG.E.EF.128"), 1, "{architecture}: {code:#?}");
        assert_eq!(count(&code, "LDG") + count(&code, "STG"), 2, "{architecture}: {code:#?}");
    }
}

#[test]
fn asynchronous_copies_go_around_registers() {
    let Some(tools) = Tools::find() else { return };
    let text = one(&kernel("asynchronous.gir"), "pipeline");
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let code = tools.code(&rendered("pipeline", &text, target(architecture)));
        assert_eq!(count(&code, "LDGSTS"), 3, "{architecture}: {code:#?}");
        assert_eq!(
            count(&code, "LDGSTS.E.BYPASS") + count(&code, "LDGSTS.E.BYPASS.128"),
            2,
            "{architecture}: {code:#?}"
        );
        assert_eq!(count(&code, "LDG.E"), 0, "{architecture}: {code:#?}");
    }
}

#[test]
fn warpgroup_products_use_the_tensor_cores() {
    let Some(tools) = Tools::find() else { return };
    let text = kernel("warpgroups.gir");
    let code = tools.code(&rendered("product", &one(&text, "product"), target("sm_90a")));
    assert_eq!(count(&code, "HGMMA.64x64x16.F32"), 2, "{code:#?}");
}

#[test]
fn fragments_use_the_tensor_cores() {
    let Some(tools) = Tools::find() else { return };
    let text = one(&kernel("fragments.gir"), "half");
    for architecture in TARGETS {
        let code = tools.code(&rendered("half", &text, target(architecture)));
        assert!(count(&code, "HMMA") >= 2, "{architecture}: {code:#?}");
    }
}

/// `tf32` and three products of it for one that is nearly exact, and bytes; older cards refuse `tf32` by name.
#[test]
fn words_and_bytes_use_the_tensor_cores() {
    let Some(tools) = Tools::find() else { return };
    let [rounded, in_three] = ["rounded", "in_three"].map(|name| one(&kernel("fragments_tf32.gir"), name));
    for architecture in ["sm_80", "sm_90", "sm_100"] {
        let products =
            |name, text: &str| count(&tools.code(&rendered(name, text, target(architecture))), "HMMA.1684.F32.TF32");
        // A product is one instruction for each half of the columns and of the depth.
        assert_eq!(products("rounded", &rounded), 8, "{architecture}");
        assert_eq!(products("in_three", &in_three), 16, "{architecture}");
    }
    let bytes = one(&kernel("fragments_bytes.gir"), "bytes");
    for architecture in TARGETS {
        let code = tools.code(&rendered("bytes", &bytes, target(architecture)));
        assert!(count(&code, "IMMA") >= 2, "{architecture}: {code:#?}");
    }
    let Err((sources, said)) = try_render("rounded", &rounded, target("sm_75"), Launches::Direct) else {
        panic!("sm_75 has no products of `tf32`")
    };
    let said = told(&sources, &said);
    assert!(said.contains("a fragment `coop<a, 16x16x8, f32>`"), "{said}");
}

/// Whether a factor was loaded by rows or by columns makes no difference to a product: see `fragments.rs`.
#[test]
fn layouts_of_factors_do_not_change_products() {
    let Some(tools) = Tools::find() else { return };
    let text = one(&kernel("fragments.gir"), "half");
    for architecture in TARGETS {
        let plain = rendered("half", &text, target(architecture));
        let products = |layouts: &str| {
            let ptx = Ptx { text: plain.text.replace("wmma.mma.sync.aligned.row.col", layouts), ..plain.clone() };
            tools.code(&ptx)
        };
        let expected = products("wmma.mma.sync.aligned.row.col");
        for layouts in ["row.row", "col.row", "col.col"] {
            let found = products(&format!("wmma.mma.sync.aligned.{layouts}"));
            assert_eq!(found, expected, "{architecture} {layouts}");
        }
    }
}

#[test]
fn words_are_reduced_by_one_instruction() {
    let Some(tools) = Tools::find() else { return };
    let text = "kernel @k(%m: buffer) workgroup(64) {\n  store.u32 %m[(global_id.x)], (subgroup.add.u32 (lane))\n}\n";
    let code = tools.code(&rendered("k", text, target("sm_80")));
    assert_eq!((count(&code, "REDUX"), count(&code, "SHFL")), (1, 0), "{code:#?}");
    let older = tools.code(&rendered("k", text, target("sm_75")));
    assert_eq!((count(&older, "REDUX"), count(&older, "SHFL")), (0, 5), "{older:#?}");
}

#[test]
fn floats_are_not_contracted() {
    let Some(tools) = Tools::find() else { return };
    let text = "kernel @k(%m: buffer, %a: f32, %b: f32, %c: f32, %x: f64, %h: f16) workgroup(1) {\n\
                  store.f32 %m[0], (add.f32 (mul.f32 %a, %b), %c)\n\
                  store.f64 %m[1], (sub.f64 (mul.f64 %x, %x), %x)\n\
                  store.f16 %m[8], (add.f16 (mul.f16 %h, %h), %h)\n\
                }\n";
    for architecture in TARGETS {
        let code = tools.code(&rendered("k", text, target(architecture)));
        assert_eq!(count(&code, "FFMA") + count(&code, "DFMA"), 0, "{architecture}: {code:#?}");
        // A product of halves may be a fused one that adds zero, but the sum is an instruction of its own.
        assert!(
            count(&code, "HADD2") + count(&code, "HMUL2") + count(&code, "HFMA2") >= 2,
            "{architecture}: {code:#?}"
        );
    }
}

#[test]
fn nothing_goes_through_local_memory_without_private_arrays() {
    let Some(tools) = Tools::find() else { return };
    for (name, text) in kernels() {
        // Functions keep what they save on a stack.
        if text.contains("private %") || text.contains("fn @") {
            continue;
        }
        for architecture in TARGETS {
            let Ok(ptx) = try_render(&name, &text, target(architecture), Launches::Direct) else { continue };
            let code = tools.code(&ptx);
            assert_eq!(count(&code, "LDL") + count(&code, "STL"), 0, "{name} for {architecture}");
        }
    }
}
