//! Every kernel assembles for every architecture, for both kinds of launches, and the assembler has nothing to say.

use super::assembler::{TARGETS, assemble, target, tool};
use super::support::{kernels, told, try_render};
use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Sources;
use girih_cuda::ptx::{self, Launches};
use girih_ir::text;
use girih_net::book::Book;
use girih_net::{device, random};

#[test]
fn all_kernels_assemble() {
    let Some(ptxas) = tool("GIRIH_PTXAS", "ptxas") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut assembled, mut failures) = (0, vec![]);
    for (name, text) in kernels() {
        for architecture in TARGETS {
            for launches in [Launches::Direct, Launches::Indirect] {
                match try_render(&name, &text, target(architecture), launches) {
                    Ok(ptx) => match assemble(&ptxas, &ptx, folder.path()) {
                        Ok(_) => assembled += 1,
                        Err(said) => {
                            failures.push(format!("{name} for {architecture}: {}", in_text(&name, &text, &said)))
                        }
                    },
                    // What an older architecture lacks is refused by name.
                    Err((_, said))
                        if said.iter().all(|d| d.code == Code::NeedsFeature || d.code == Code::OverLimit) => {}
                    Err((sources, said)) => {
                        failures.push(format!("{name} for {architecture}: {}", told(&sources, &said)))
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures of {assembled}\n{}", failures.len(), failures.join("\n"));
    assert!(assembled > 100, "only {assembled} were assembled");
}

/// The kernels of nets, with definitions as straight code and as words.
#[test]
fn kernels_of_nets_assemble() {
    let Some(ptxas) = tool("GIRIH_PTXAS", "ptxas") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for seed in 0..3 {
        let book = Book::new(&random::book(seed)).unwrap_or_else(|errors| panic!("{errors:?}"));
        for (architecture, straight) in TARGETS.into_iter().flat_map(|name| [(name, true), (name, false)]) {
            let device::Kernels { module, .. } =
                device::kernels(&book, straight, straight).unwrap_or_else(|errors| panic!("{errors:?}"));
            let text = text::print(&module);
            let ptx = try_render("net.gir", &text, target(architecture), Launches::Indirect)
                .unwrap_or_else(|(sources, said)| panic!("{architecture}: {}", told(&sources, &said)));
            if let Err(said) = assemble(&ptxas, &ptx, folder.path())
                // Books with many functions of floats need a register or two more than there are.
                && said.iter().any(|diagnostic| !diagnostic.message.contains("Registers are spilled"))
            {
                panic!("{architecture}: {}", in_text("net.gir", &text, &said));
            }
        }
    }
}

#[test]
fn what_the_assembler_says_leads_to_the_kernel() {
    let Some(ptxas) = tool("GIRIH_PTXAS", "ptxas") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = "kernel @k(%a: buffer) workgroup(1) {\n  %x = load.u32 %a[0]\n  store.u32 %a[1], (add %x, 1)\n}\n";
    let mut ptx = super::support::rendered("wrong.gir", source, target("sm_80"));
    ptx.text = ptx.text.replace("add.u32", "add.u33");
    let said = assemble(&ptxas, &ptx, folder.path()).expect_err("there is no add.u33");
    let said = in_text("wrong.gir", source, &said);
    assert!(said.contains("wrong.gir:3:"), "{said}");
    assert!(ptx::diagnostics(&ptx, "").is_empty());
}

/// Diagnostics about a text that has been read before.
fn in_text(name: &str, text: &str, said: &[Diagnostic]) -> String {
    let mut sources = Sources::default();
    sources.add(name, text);
    told(&sources, said)
}
