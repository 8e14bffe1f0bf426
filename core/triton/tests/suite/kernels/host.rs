//! Ordinary Python around kernels: what is run of it when a kernel is compiled, and what it is told.

use girih_base::diag::{Code, Diagnostic};
use girih_base::span::Sources;
use girih_ir::Scalar;
use girih_triton::{Alone, Argument, Compiled, Constant, Request, compile};

const HEAD: &str = "import torch, os\nimport triton\nimport triton.language as tl\n\n";

fn ask(text: &str, request: &Request) -> Result<Compiled, Vec<Diagnostic>> {
    compile(&mut Sources::default(), "kernel.py", &format!("{HEAD}{text}"), &Alone, request)
}

fn request(arguments: &[(&str, i128)]) -> Request {
    let arguments = arguments.iter().map(|(name, n)| ((*name).to_owned(), Argument::Constant(Constant::Int(*n))));
    Request { kernel: "k".into(), arguments: arguments.collect(), ..Request::default() }
}

/// What `RESULT` of a file is, as text.
fn result(text: &str) -> String {
    let source = format!("{text}\n\n@triton.jit\ndef k():\n    tl.static_print(str(RESULT))\n");
    match ask(&source, &request(&[])) {
        Ok(compiled) => compiled.head.notes.join("\n"),
        Err(found) => format!("{}: {}", found[0].code, found[0].message),
    }
}

#[test]
fn functions_of_python_work_on_what_is_known() {
    for (expression, expected) in [
        ("list(filter(lambda n: n % 2 == 0, [1, 2, 3, 4]))", "(2, 4)"),
        ("list(map(lambda a, b: a * b, [1, 2], [3, 4]))", "(3, 8)"),
        ("sorted([3, 1, 2])", "(1, 2, 3)"),
        ("sorted([(1, 'b'), (0, 'c'), (1, 'a')], reverse=True)", "((1, b), (1, a), (0, c))"),
        ("sorted(['bb', 'a'], key=lambda t: len(t))", "(a, bb)"),
        ("list(reversed([1, 2]))", "(2, 1)"),
        ("sum([1, 2], 3)", "6"),
        ("any([False, True])", "True"),
        ("all([False, True])", "False"),
        ("len(set([1, 2, 1]))", "2"),
        ("dict(a=1, b=2)['b']", "2"),
        ("({'a': 1, 'b': 2} | {'b': 3})['b']", "3"),
        ("[k + str(v) for k, v in {'a': 1}.items()]", "(a1)"),
        ("{'a': 1}.get('b', 5)", "5"),
        ("[k for k in {'BLOCK_M': 1, 'warps': 2}.keys() if k.startswith('BLOCK')]", "(BLOCK_M)"),
        ("list(zip([1, 2], [3, 4]))", "((1, 3), (2, 4))"),
        ("getattr(triton.Config({}, num_warps=2), 'num_warps')", "2"),
        ("triton.Config({'B': 3}, num_warps=2).kwargs['B']", "3"),
        ("triton.runtime.driver.active.get_current_target().backend", "cuda"),
        ("torch.cuda.get_device_capability()[0]", "8"),
        ("torch.version.hip is None", "True"),
        ("'CI' in os.environ", "False"),
        ("os.environ.get('SIZE', 7)", "7"),
    ] {
        assert_eq!(result(&format!("RESULT = {expression}")), expected, "{expression}");
    }
}

#[test]
fn names_mean_what_they_mean_where_they_stand() {
    assert_eq!(result("A = 1\nRESULT = A + 1\nA = 5"), "2");
    assert_eq!(result("A = 1\ndef f():\n    return A\nRESULT = f()\nA = 5"), "1");
    assert_eq!(result("A = [1]\nRESULT = A\nA += [2]"), "(1)");
    assert_eq!(result("RESULT = 1\nRESULT = 2"), "2");
}

#[test]
fn branches_of_a_file_are_taken_as_their_conditions_say() {
    let is_cuda = "def is_cuda():\n    return triton.runtime.driver.active.get_current_target().backend == 'cuda'\n";
    let chosen = "if not is_cuda():\n    RESULT = 1\nelif torch.cuda.get_device_capability()[0] >= 9:\n    RESULT = 2\nelse:\n    RESULT = 3\n";
    assert_eq!(result(&format!("{is_cuda}{chosen}")), "3");
    assert_eq!(result("RESULT = 1\nif 'PYTEST_VERSION' in os.environ:\n    RESULT = 2"), "1");
    // What nobody can know keeps the first meaning.
    assert_eq!(result("if torch.backends.mystery():\n    RESULT = 1\nelse:\n    RESULT = 2"), "1");
    let none = result("if False:\n    RESULT = 1");
    assert!(none.contains("not taken"), "{none}");
}

#[test]
fn configurations_are_pruned_filtered_and_numbered() {
    let source = "
configs = [triton.Config({'B': b}, num_warps=w) for b in [16, 32, 64] for w in [4, 8]]

def keep(conf):
    return conf.kwargs['B'] > 16 or conf.num_warps == 4

def prune(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs.get('B', 0) <= kwargs['N']]

@triton.autotune(list(filter(keep, configs)), key=['N'], prune_configs_by={'early_config_prune': prune})
@triton.jit
def k(N: tl.constexpr, B: tl.constexpr):
    tl.static_assert(B <= N)

configs = []
";
    let all = |n: i128| {
        let mut found = vec![];
        let mut request = request(&[("N", n)]);
        loop {
            let compiled = ask(source, &request).expect("it is right");
            let warps = compiled.module.functions[compiled.kernel].launch.as_ref().expect("a kernel").workgroup[0] / 32;
            let (_, block) = compiled.head.chosen[0].clone();
            found.push((block, warps));
            request.configuration += 1;
            if request.configuration == compiled.head.configurations {
                break;
            }
        }
        let error = ask(source, &request).expect_err("there is none of that number");
        assert_eq!(error[0].code, Code::KernelArgument);
        found
    };
    let int = Constant::Int;
    assert_eq!(all(32), [(int(16), 4), (int(32), 4), (int(32), 8)]);
    assert_eq!(all(100).len(), 5);
}

#[test]
fn a_file_is_told_of_the_card() {
    let source = "
@triton.autotune([triton.Config({'B': torch.cuda.get_device_capability()[0]})], key=[])
@triton.jit
def k(B: tl.constexpr):
    tl.static_print(B)
";
    let request = Request { capability: Some((9, 0)), ..request(&[]) };
    assert_eq!(ask(source, &request).expect("it is right").head.notes, ["9"]);
}

#[test]
fn why_configurations_cannot_be_read_is_said_where_a_constant_is_missing() {
    let source = "
@triton.autotune(torch.mystery(), key=[])
@triton.jit
def k(B: tl.constexpr):
    tl.static_print(B)
";
    let found = ask(source, &request(&[])).expect_err("B is missing");
    let hint = found[0].hint.as_deref().unwrap_or_default();
    assert!(hint.contains("`@triton.autotune`") && hint.contains("line 6") && hint.contains("torch.mystery"), "{hint}");
}

#[test]
fn numbers_that_stand_for_pointers_are_named() {
    let source = "
@triton.jit
def k(x_ptr, n):
    at = tl.arange(0, 16)
    tl.store(x_ptr + at, at, mask=at < n)
";
    let argument = |name: &str| (name.to_owned(), Argument::Scalar(Scalar::I32, 7));
    let request =
        Request { kernel: "k".into(), arguments: vec![argument("x_ptr"), argument("n")], ..Request::default() };
    let found = ask(source, &request).expect_err("a number is no pointer");
    assert_eq!(found[0].hint.as_deref(), Some("the parameter `x_ptr` was given a number: pass an array"));
}
