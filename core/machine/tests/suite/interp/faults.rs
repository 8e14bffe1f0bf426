//! Every fault that checked mode looks for, and its right neighbour, in which nothing is found.

use super::*;

/// A kernel of 64 invocations on one buffer of 256 words.
fn body(text: &str) -> String {
    format!("\nkernel @k(%m: buffer) workgroup(64) {{\n  shared %s: u32[64]\n  %t = local_index\n  {text}\n}}")
}
fn found(text: &str) -> (Code, String) {
    fault(&body(text), &[Words(vec![0; 256])])
}
fn fine(text: &str) {
    let result = launch(&body(text), checked(), [2, 1, 1], &[Words(vec![0; 256])]);
    assert!(result.is_ok(), "{text}: {result:#?}");
}

#[test]
fn accesses_outside() {
    let (code, message) = found("store.u32 %m[(mul.u32 %t, 5)], 1");
    assert_eq!(code, Code::OutOfBounds);
    assert_eq!(
        message,
        "`store.u32` accesses element 260 of `%m`, which has 256 elements of 4 bytes, in invocation (52, 0, 0) of workgroup (0, 0, 0)"
    );
    let (code, message) = found("%x = load.u32x4 %m[(add.u32 %t, 1)]");
    assert_eq!(code, Code::OutOfBounds);
    assert!(message.contains("element 64 of `%m`, which has 64 elements of 16 bytes"), "{message}");
    assert_eq!(found("store.u32 %s[%t - 1], 0").0, Code::OutOfBounds);
    assert_eq!(found("store.u32 %s[(add.u32 %t, 1)], 0").0, Code::OutOfBounds);
    assert_eq!(found("%x = atomic.add.u32 %m[4294967295], 1").0, Code::OutOfBounds);
    // Without checks just as well.
    let unchecked = Options { checked: false, ..checked() };
    let result = launch(&body("store.u32 %m[%t + 200], 1"), unchecked, [1; 3], &[Words(vec![0; 256])]);
    assert_eq!(result.expect_err("outside").code, Code::OutOfBounds);
    fine("%x = load.u32 %m[(mul.u32 %t, 4)]");
}

#[test]
fn races_within_a_workgroup() {
    let (code, message) = found("store.u32 %m[(shr.u32 %t, 1)], %t");
    assert_eq!(code, Code::Race);
    assert!(message.contains("invocation (1, 0, 0)") && message.contains("invocation (0, 0, 0)"), "{message}");
    let exchange = |between: &str| {
        format!(
            "store.u32 %s[%t], %t\n  {between}\n  %x = load.u32 %s[(xor.u32 %t, 1)]\n  if (eq.u32 (workgroup_id.x), 0) {{\n    store.u32 %m[%t], %x\n  }}"
        )
    };
    assert_eq!(found(&exchange("")).0, Code::Race);
    assert_eq!(found(&exchange("barrier spaces(global)")).0, Code::Race);
    fine(&exchange("barrier"));
    fine(&exchange("barrier spaces(shared, global)"));
    let global = |between: &str| {
        format!("%i = global_id.x\n  store.u32 %m[%i], %t\n  {between}\n  %x = load.u32 %m[(xor.u32 %i, 1)]")
    };
    assert_eq!(found(&global("barrier")).0, Code::Race);
    fine(&global("barrier spaces(global)"));
    assert_eq!(found("%x = atomic.add.u32 %m[0], 1\n  %y = load.u32 %m[0]").0, Code::Race);
    fine("%x = atomic.add.u32 %m[0], 1\n  %y = atomic.load.u32 %m[0]");
    // Short elements side by side do not race, in one place they do.
    fine("store.u8 %m[(global_id.x)], (convert.u8 %t)");
    assert_eq!(found("store.u8 %m[(shr.u32 %t, 2)], (convert.u8 %t)").0, Code::Race);
}

#[test]
fn races_between_workgroups() {
    let two = |text: &str| launch(&body(text), checked(), [2, 1, 1], &[Words(vec![0; 256])]);
    let race = two("if (eq.u32 %t, 0) {\n    store.u32 %m[0], 1\n  }").expect_err("a race");
    assert_eq!(race.code, Code::Race);
    assert!(race.message.contains("another workgroup"), "{}", race.message);
    assert_eq!(
        two("store.u32 %m[(mul.u32 %t, (sub.u32 1, (workgroup_id.x)))], 1").expect_err("a race").code,
        Code::Race
    );
    fine("if (eq.u32 %t, 0) {\n    %x = atomic.add.u32 %m[0], 1\n  }");
    // A flag that is released and acquired orders what was written before it.
    let flag = |store: &str, load: &str| {
        format!(
            "if (eq.u32 (workgroup_id.x), 0) {{\n    store.u32 %m[(add.u32 %t, 1)], 7\n  }}\n  barrier spaces(global)
  if (eq.u32 %t, 0) {{
    if (eq.u32 (workgroup_id.x), 0) {{
      atomic.store.u32 %m[0], 1 {store}
    }} else {{
      %f = atomic.load.u32 %m[0] {load}
      if (eq.u32 %f, 1) {{
        %x = load.u32 %m[5]
      }}
    }}
  }}"
        )
    };
    fine(&flag("order(release)", "order(acquire)"));
    assert_eq!(two(&flag("", "")).expect_err("a race").code, Code::Race);
}

#[test]
fn promises_of_parameters() {
    let source = "
kernel @k(%a: buffer readonly, %b: buffer) workgroup(1) {
  store.u32 %b[0], (load.u32 %a[1])
}
kernel @n(%a: buffer noalias, %b: buffer) workgroup(1) {
  store.u32 %b[0], (load.u32 %a[1])
}";
    let module = module(source);
    let device = Device::new(Interpreter::new(checked()));
    let kernels: Vec<_> = module.kernels().collect();
    let programs = device.load(&module, &kernels, &LoadOptions::default()).expect("loads");
    let buffer = device.zeroed(Memory::of(16)).expect("memory");
    for program in programs {
        let arguments = vec![Argument::buffer(&buffer); 2];
        device
            .submit(&[Command::Dispatch(Dispatch { program, arguments, grid: Grid::Workgroups([1; 3]) })])
            .expect("starts");
        assert_eq!(device.wait().expect_err("a broken promise").code, Code::BrokenPromise);
    }
}

#[test]
fn undefined_values() {
    let (code, message) = found("store.u32 %m[%t], (load.u32 %s[%t])");
    assert_eq!(code, Code::UndefinedValue);
    assert!(message.contains("stored to a buffer") && message.contains("never wrote"), "{message}");
    // Computed and thrown away.
    fine("%x = load.u32 %s[%t]\n  store.u32 %m[(global_id.x)], (select.u32 (ge.u32 %t, 64), %x, 1)");
    // Masked away.
    fine(
        "%x = load.u32 %s[%t]\n  if (and (lt.u32 %t, 0), (eq.u32 %x, 3)) {\n    barrier\n  }"
            .replace("barrier", "store.u32 %s[%t], 1")
            .as_str(),
    );
    // Through arithmetic, shared memory, a loop and a function.
    assert_eq!(
        found("%x = add.u32 (load.u32 %s[%t]), 1\n  if (eq.u32 %x, 0) {\n    store.u32 %m[%t], 1\n  }").0,
        Code::UndefinedValue
    );
    assert_eq!(found("%x = and.u32 (load.u32 %s[%t]), 1\n  %y = load.u32 %m[%x]").0, Code::UndefinedValue);
    let copied = "%x = load.u32 %s[%t]\n  barrier\n  store.u32 %s[%t], %x\n  store.u32 %m[%t], (load.u32 %s[%t])";
    assert_eq!(found(copied).0, Code::UndefinedValue);
    assert_eq!(found("%x = shuffle_up.u32 %t, 1\n  store.u32 %m[%t], %x").0, Code::UndefinedValue);
    assert_eq!(found("%x = shuffle.u32 %t, 99\n  store.u32 %m[%t], %x").0, Code::UndefinedValue);
    fine("%x = shuffle_up.u32 %t, 1\n  store.u32 %m[(global_id.x)], (select.u32 (eq.u32 (lane), 0), 0, %x)");
    assert_eq!(
        found("%x = add.u32 (add.u32 %t, 4294967290), 5 nowrap\n  store.u32 %m[%t], %x").0,
        Code::UndefinedValue
    );
    // What is loaded from a buffer is defined, whatever its place in the activation held before.
    let reused = "
kernel @k(%x: buffer readonly, %o: buffer) workgroup(2) {
  %i = global_id.x
  %a = load.u32 %x[%i]
  %c = lt %a, 255
  %b = mul %a, 33 nowrap
  %s = select %c, %b, %a
  %v = load.u32 %x[%i + 1]
  %w = load.u32 %x[%i + 2]
  store.u32 %o[%i], %v
  store.u32 %o[%i + 2], %w
  store.u32 %o[%i + 4], %s
}";
    let given = [Words(vec![1, u32::MAX, 3, 4, 5, 6]), Words(vec![0; 6])];
    let result = launch(reused, checked(), [1; 3], &given).expect("no fault").remove(1);
    assert_eq!(result, [u32::MAX, 3, 3, 4, 33, u32::MAX]);
    fine("%x = sub.i32 (bitcast.i32 %t), 5 nowrap\n  store.i32 %m[(global_id.x)], %x");
    assert_eq!(found("%x = shl.i32 (bitcast.i32 %t), 26 nowrap\n  store.i32 %m[%t], %x").0, Code::UndefinedValue);
    let private = "
kernel @k(%m: buffer) workgroup(4) {
  private %p: u32[2]
  store.u32 %p[0], 1
  store.u32 %m[(local_index)], (load.u32 %p[(and.u32 (local_index), 1)])
}";
    let (code, message) = fault(private, &[Words(vec![0; 4])]);
    assert_eq!(code, Code::UndefinedValue);
    assert!(message.contains("private memory") && message.contains("invocation (1, 0, 0)"), "{message}");
    // What was undefined in one workgroup is not in the next.
    fine("%x = load.u32 %s[%t]\n  barrier\n  store.u32 %s[%t], %t\n  store.u32 %m[(global_id.x)], (load.u32 %s[%t])");
}

#[test]
fn copies_that_are_not_waited_for() {
    let copy =
        |after: &str| format!("%i = global_id.x\n  async.copy.u32 %s[%t], %m[%i], true\n  async.commit\n  {after}");
    let (code, message) = found(&copy("store.u32 %m[(add.u32 %i, 128)], (load.u32 %s[%t])"));
    assert_eq!(code, Code::NotFinished);
    assert!(message.contains("asynchronous copy"), "{message}");
    assert_eq!(
        found(&copy("async.wait pending(1)\n  store.u32 %m[(add.u32 %i, 128)], (load.u32 %s[%t])")).0,
        Code::NotFinished
    );
    fine(&copy("async.wait\n  store.u32 %m[(add.u32 %i, 128)], (load.u32 %s[%t])"));
    // Others need a barrier behind the wait.
    assert_eq!(found(&copy("async.wait\n  %x = load.u32 %s[(xor.u32 %t, 1)]")).0, Code::Race);
    assert_eq!(found(&copy("barrier\n  async.wait\n  %x = load.u32 %s[(xor.u32 %t, 1)]")).0, Code::Race);
    fine(&copy("async.wait\n  barrier\n  store.u32 %m[(add.u32 %i, 128)], (load.u32 %s[(xor.u32 %t, 1)])"));
    assert_eq!(found(&copy("store.u32 %s[%t], 1")).0, Code::OverwrittenInFlight);
    // A copy that was never committed is not waited for.
    assert_eq!(
        found("async.copy.u32 %s[%t], %m[%t], true\n  async.wait\n  store.u32 %m[%t + 64], (load.u32 %s[%t])").0,
        Code::NotFinished
    );
    // Nothing is read where `inside` does not hold.
    fine(
        "async.copy.u32 %s[%t], %m[(add.u32 %t, 1000)], false\n  async.commit\n  async.wait\n  store.u32 %m[(global_id.x)], (load.u32 %s[%t])",
    );
    assert_eq!(found("async.copy.u32 %s[%t], %m[(add.u32 %t, 1000)], (eq.u32 %t, 3)").0, Code::OutOfBounds);
}

#[test]
fn sources_of_copies_that_are_overwritten() {
    let written =
        |write: &str| found(&format!("async.copy.u32 %s[%t], %m[%t], true\n  async.commit\n  {write}\n  async.wait")).0;
    assert_eq!(written("store.u32 %m[%t], 1"), Code::OverwrittenInFlight);
    assert_eq!(
        written("barrier spaces(shared, global)\n  store.u32 %m[(xor.u32 %t, 1)], 1"),
        Code::OverwrittenInFlight
    );
    assert_eq!(written("%x = atomic.add.u32 %m[%t], 1"), Code::OverwrittenInFlight);
    let kept = "async.copy.u32 %s[%t], %m[(global_id.x)], true\n  async.commit\n  store.u32 %m[(add.u32 (global_id.x), 128)], 1\n  async.wait";
    fine(kept);
    fine(&format!("{kept}\n  store.u32 %m[(global_id.x)], (load.u32 %s[%t])"));
}

#[test]
fn memories_that_lie_over_each_other() {
    let source = "
kernel @k(%m: buffer) workgroup(1) {
  shared %a: u32[4] group(1)
  shared %b: u32[8] group(1)
  store.u32 %a[0], 7
  store.u32 %b[1], 8
  TEXT
}";
    let run =
        |text: &str| launch(&source.replace("TEXT", text), checked(), [1; 3], &[Words(vec![0; 4])]).map_err(|d| d.code);
    let through = |name: &str, at: u32| run(&format!("store.u32 %m[0], (load.u32 %{name}[{at}])"));
    assert_eq!(through("a", 0).expect("no fault")[0][0], 7);
    assert_eq!(through("b", 1).expect("no fault")[0][0], 8);
    assert_eq!(through("b", 0), Err(Code::UndefinedValue));
    assert_eq!(through("a", 1), Err(Code::UndefinedValue));
    assert_eq!(run("%x = atomic.add.u32 %b[0], 1\n  store.u32 %m[0], %x"), Err(Code::UndefinedValue));
    assert_eq!(run("%x = atomic.add.u32 %b[0], 1\n  store.u32 %m[0], (load.u32 %b[0])"), Err(Code::UndefinedValue));
    let written = "store.u32 %b[0], 9\n  store.u32 %m[0], (load.u32 %b[0])";
    assert_eq!(run(written).expect("no fault")[0][0], 9);
    // What was read and not used harms nobody.
    assert!(run("%x = load.u32 %b[0]\n  store.u32 %m[0], (load.u32 %a[0])").is_ok());
}

/// A kernel with one product; the parts are replaced by wrong ones.
fn product(store: &str, fence: &str, after: &str) -> String {
    format!(
        "
kernel @k(%m: buffer) workgroup(128) {{
  shared %s: f16[2048] align(1024)
  %t = local_index
  loop (%i: u32 = %t) {{
    if (ge.u32 %i, 2048) {{
      break
    }}
    store.f16 %s[%i], 1.0
    continue (add.u32 %i, 128)
  }}
  {store}
  barrier
  %zero = splat.regs<f32, 4> 0.0
  {fence}
  %p = wgmma.f16 %zero, %s[0], %s[1024] shape(64x8x16) a(k, leading 1024, stride 128) b(k, leading 128, stride 256)
  wgmma.commit
  {after}
}}"
    )
}

#[test]
fn products_that_are_not_fenced_or_waited_for() {
    let run = |store: &str, fence: &str, after: &str| {
        launch(&product(store, fence, after), checked(), [1; 3], &[Words(vec![0; 128])]).map_err(|d| d.code)
    };
    let result = "store.f32 %m[%t], (extract.f32 %sum, 0)";
    let waited = format!("%sum = wgmma.wait %p\n  {result}");
    let found = run("fence.async", "wgmma.fence", &waited).expect("no fault");
    assert_eq!(found[0], [16f32.to_bits(); 128]);
    assert_eq!(run("", "wgmma.fence", &waited), Err(Code::MissingFence));
    assert_eq!(run("fence.async", "", &waited), Err(Code::MissingFence));
    assert_eq!(run("fence.async", "wgmma.fence", &result.replace("%sum", "%p")), Err(Code::NotFinished));
    let early = format!("%sum = wgmma.wait %p pending(1)\n  {result}");
    assert_eq!(run("fence.async", "wgmma.fence", &early), Err(Code::NotFinished));
    let overwritten = format!("store.f16 %s[%t], 2.0\n  {waited}");
    assert_eq!(run("fence.async", "wgmma.fence", &overwritten), Err(Code::OverwrittenInFlight));
    let after = format!("{waited}\n  barrier\n  store.f16 %s[%t], 2.0");
    assert!(run("fence.async", "wgmma.fence", &after).is_ok());
    // The accumulators of a product under way may go into the next one.
    let chain =
        "%q = wgmma.f16 %p, %s[0], %s[1024] shape(64x8x16) a(k, leading 1024, stride 128) b(k, leading 128, stride 256)
  wgmma.commit
  %sum = wgmma.wait %q
  store.f32 %m[%t], (extract.f32 %sum, 0)";
    assert_eq!(run("fence.async", "wgmma.fence", chain).expect("no fault")[0], [32f32.to_bits(); 128]);
}

/// The verifier sees much of this; what it cannot see because a memory hides it is found here.
#[test]
fn what_only_some_reach() {
    let module = |text: &str| text::parse(SourceId::new(0), text).expect("parses").module;
    let run = |text: &str| {
        let module = module(&body(text));
        let kernel = module.kernels().next().expect("a kernel");
        run_unverified(&module, kernel).expect_err("a fault").code
    };
    assert_eq!(run("if (lt.u32 %t, 10) {\n    barrier\n  }"), Code::NotTogether);
    assert_eq!(run("if (lt.u32 %t, 10) {\n    %x = subgroup.add.u32 %t\n  }"), Code::NotTogether);
    assert_eq!(run("%x = broadcast.u32 %t, (and.u32 %t, 1)"), Code::NotUniform);
    assert_eq!(run("%x = shuffle_xor.u32 %t, (and.u32 %t, 1)"), Code::NotUniform);
    assert_eq!(run("store.u32 %s[%t], 1\n  %x = uniform_load.u32 %s[%t]"), Code::NotUniform);
}

/// Runs a kernel that the verifier would not let through.
fn run_unverified(module: &Module, kernel: girih_ir::FunctionId) -> Result<(), Diagnostic> {
    use girih_machine::interp::checks::Shadows;
    use girih_machine::interp::code::Team;
    use girih_machine::interp::dispatch::{Bound, Dispatch, Settings};
    use girih_machine::interp::program::Program;
    let program = Program::new(std::sync::Arc::new(module.clone()), kernel, Team::new([64, 1, 1], 32));
    let settings = Settings { checked: true, seed: None, fuel: Some(100_000) };
    let parameters = [Bound::Buffer(0, 0, 1024)];
    let dispatch = Dispatch {
        program: &program,
        parameters: &parameters,
        grid: [1; 3],
        dynamic_shared: &[],
        most_shared: 1 << 16,
        settings,
    };
    dispatch.run(&mut vec![vec![0; 1024]], &mut Shadows::default(), &mut vec![]).map(drop).map_err(|fault| *fault)
}

#[test]
fn waits_that_nothing_ends() {
    let source = "
kernel @k(%m: buffer) workgroup(4) {
  shared %bar: u64[1]
  if (eq.u32 (local_index), 0) {
    mbarrier.init %bar[0], 5
  }
  barrier
  %token = mbarrier.arrive %bar[0]
  mbarrier.wait %bar[0], 0
}";
    let (code, message) = fault(source, &[Words(vec![0; 4])]);
    assert_eq!(code, Code::Deadlock);
    assert!(message.contains("waits for 1 arrivals"), "{message}");
    let uninitialised = source.replace("mbarrier.init %bar[0], 5", "trap_if false code(1)");
    assert_eq!(fault(&uninitialised, &[Words(vec![0; 4])]).0, Code::UndefinedValue);
    let spin = "
kernel @k(%m: buffer) workgroup(4) {
  loop {
    if (eq.u32 (atomic.load.u32 %m[0]), 1) {
      break
    }
    continue
  }
}";
    assert_eq!(fault(spin, &[Words(vec![0; 4])]).0, Code::OutOfFuel);
}
