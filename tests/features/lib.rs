//! What a build of Girih with some of its features does: `cargo test -p girih-features --no-default-features --features cuda`.
//!
//! The tests hold for any set of features: what is built works, and what is not built is refused by the name of its feature. The crate stands by itself
//! because everything else in the workspace asks for all features.

#[cfg(test)]
mod tests {
    use girih::devices::{Profile, Selector, find, open};
    use girih::features::Feature;
    use girih::kernels::{KernelForm, Kernels};
    use girih::{Code, Diagnostic};

    const SCALE: &str =
        "kernel @scale(%x: buffer, %n: u32) workgroup(64) launch { grid (div (add %n, 63), 64), 1, 1 } {
  %i = global_id.x
  if (lt %i, %n) {
    store.u32 %x[%i], (mul (load.u32 %x[%i]), 2)
  }
}
";

    /// Whether an error says that a feature is not built, and which.
    fn names(error: &Diagnostic, feature: Feature) -> bool {
        let hint = error.hint.as_deref().unwrap_or_default();
        error.code == Code::NotBuilt && hint.contains(&format!("`--features {}`", feature.name()))
    }

    /// What is built does not say that it is missing, and what is missing does.
    fn is_held(feature: Feature, error: Option<&Diagnostic>) {
        match error {
            Some(error) if feature.is_built() => assert_ne!(error.code, Code::NotBuilt, "{}", error.message),
            Some(error) => assert!(names(error, feature), "{}", error.message),
            None => assert!(feature.is_built(), "{feature:?} is not built, and nobody says so"),
        }
    }

    #[test]
    fn devices_that_are_not_built_say_so() {
        let named = [
            (Selector::Cpu, Feature::Cpu),
            (Selector::Cuda(0), Feature::Cuda),
            (Selector::parse("ptx:sm_80").expect("it is a name"), Feature::Cuda),
            (Selector::Wgpu(None), Feature::Wgpu),
        ];
        for (selector, feature) in named {
            let error = open(&selector, None).err();
            is_held(feature, error.as_ref().map(|error| &error.diagnostics[0]));
        }
        let (found, missing) = find();
        assert!(found.iter().any(|device| device.name == "interpreter"));
        for feature in [Feature::Cpu, Feature::Cuda, Feature::Wgpu] {
            let is_listed = missing.iter().any(|error| names(error, feature));
            assert_eq!(is_listed, !feature.is_built(), "{feature:?}");
        }
    }

    #[test]
    fn kernels_are_shown_as_what_is_built() {
        let kernels = Kernels::from_text("scale.gir", SCALE).expect("nothing is wrong with this kernel");
        assert!(kernels.emit(KernelForm::Ir, Profile::Web).is_ok());
        assert!(kernels.emit(KernelForm::Kernel, Profile::Cuda(80)).is_ok());
        let shown =
            [(KernelForm::Ptx, Profile::Cuda(80), Feature::Cuda), (KernelForm::Clif, Profile::Cpu, Feature::Cpu)];
        for (form, profile, feature) in shown {
            let error = kernels.emit(form, profile).err();
            is_held(feature, error.as_ref().map(|report| &report.diagnostics[0]));
        }
    }

    #[cfg(feature = "bend")]
    mod bend {
        use super::is_held;
        use girih::features::Feature;
        use girih::{Options, Program, Report, RunDevice, RunOptions, SystemHost, Tier};

        const SQUARES: &str = "def main():\n  return [x * x for x in [1, 2, 3]]\n";
        const FORKS: &str = "def sum(d):\n  switch d:\n    case 0:\n      return 1\n    case _:\n      return sum(d-1) + sum(d-1)\n\ndef main():\n  return sum(5)\n";
        const SUPERPOSED: &str = "def main():\n  return {1 2}\n";

        fn run(text: &str, options: &RunOptions) -> Result<String, Report> {
            let program = Program::from_text("test.bend", text, &Options::default());
            Ok(program.run(&mut SystemHost::new(), options)?.text)
        }

        #[test]
        fn programs_run_whatever_is_built() {
            for (text, value) in [(SQUARES, "[1, 4, 9]"), (FORKS, "32")] {
                let machine = RunDevice::from(girih::devices::Selector::Interpreter(32));
                for device in [RunDevice::Auto, RunDevice::Evaluator, machine] {
                    let options = RunOptions { device, ..RunOptions::default() };
                    assert_eq!(run(text, &options).expect("it runs"), value, "{options:?}");
                }
            }
        }

        #[test]
        fn auto_is_the_evaluator_where_nothing_else_is_built() {
            let program = Program::from_text("test.bend", SQUARES, &Options::default());
            let executable = program.compile(&RunOptions::default()).expect("it compiles");
            assert_eq!(executable.choice().tier.is_none(), !Feature::Cpu.is_built(), "{}", executable.choice());
            let direct = RunOptions { tier: Tier::Direct, ..RunOptions::default() };
            let error = program.compile(&direct).err();
            is_held(Feature::Cpu, error.as_ref().map(|report| &report.diagnostics[0]));
        }

        #[test]
        fn programs_that_need_nets_say_so() {
            for (text, tier) in [(SUPERPOSED, Tier::Auto), (SQUARES, Tier::Net)] {
                // On the host, so that no card decides.
                let options = RunOptions { tier, device: RunDevice::Cpu, ..RunOptions::default() };
                let error = run(text, &options).err();
                is_held(Feature::Net, error.as_ref().map(|report| &report.diagnostics[0]));
                if let (Some(report), Tier::Auto) = (error, tier) {
                    assert!(report.to_string().contains("test.bend:2"), "the place is shown: {report}");
                }
            }
        }

        #[test]
        fn pictures_are_painted_whatever_is_built() {
            use girih::render::{Shader, Size};
            let text = "def shader(x: u24, y: u24, t: f24) -> u24:\n  return x + y * 256\n";
            let program = Program::from_text("shader.bend", text, &Shader::options());
            let shader = Shader::new(&program).expect("it is a shader");
            let frame = shader.frame(Size::new(4, 4).expect("it is a size"), 0.0).expect("it is painted");
            assert_eq!(frame.pixels[6], [0, 1, 2, 255]);
        }
    }

    #[cfg(feature = "net")]
    #[test]
    fn nets_are_reduced_whatever_is_built() {
        let text = "@main = a & @square ~ (7 a)\n@square = ({$([*] $(b r)) b} r)\n";
        let nets = girih::nets::Nets::from_text("square.hvm", text).expect("it is a net");
        assert_eq!(nets.reduce(None, &Default::default()).expect("it ends").text, "49");
    }

    #[cfg(feature = "triton")]
    #[test]
    fn triton_kernels_run_whatever_is_built() {
        use girih::ir::Scalar;
        use girih::runtime::{Argument as Given, Memory};
        use girih::triton::{Argument, Constant, KernelFile, Request};
        let text = "
import triton
import triton.language as tl

@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at)
";
        let request = Request {
            kernel: "fill".into(),
            arguments: vec![
                ("out_ptr".into(), Argument::Buffer(Scalar::I32)),
                ("BLOCK".into(), Argument::Constant(Constant::Int(8))),
            ],
            ..Request::default()
        };
        let device = open(&Selector::Interpreter(4), None).expect("it is always there");
        let file = KernelFile::from_text("fill.py", text).kept_in(None);
        let kernel = file.load(&device, &request).expect("nothing is wrong with this kernel");
        let buffer = device.zeroed(Memory::of(64)).expect("there is memory");
        kernel.launch(&device, [2, 1, 1], &[("out_ptr", Given::buffer(&buffer))]).expect("it runs");
        let mut bytes = vec![0; 64];
        device.read(&buffer, 0, &mut bytes).expect("it is there");
        let (words, _) = bytes.as_chunks();
        assert!(words.iter().enumerate().all(|(i, word)| i32::from_le_bytes(*word) == i as i32), "{bytes:?}");
    }
}
