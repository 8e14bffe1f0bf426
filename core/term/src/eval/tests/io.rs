//! IO against a host that plays back a script and writes down what it was asked for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Limits, Machine, program, show};
use crate::code;
use crate::io::{Host, Whence};
use girih_base::diag::{Code, Diagnostic};

/// What the program does with the answer of one call.
const CALLS: &str = "
    (def call (name arg) (IO/Call IO/MAGIC name arg (fn (answer) (IO/Done IO/MAGIC answer))))
    (def bind (io next) (match IO io
        ((IO/Done magic value) (next value))
        ((IO/Call magic name arg cont) (IO/Call magic name arg (fn (answer) (bind (cont answer) next))))))";

#[derive(Default)]
struct Script {
    answers: VecDeque<Result<Vec<u8>, i32>>,
    asked: Vec<String>,
}

impl Script {
    fn ask(&mut self, question: String) -> Result<Vec<u8>, i32> {
        self.asked.push(question);
        self.answers.pop_front().unwrap_or(Ok(vec![]))
    }
}

impl Host for Script {
    fn open(&mut self, path: &str, mode: &str) -> Result<u32, i32> {
        self.ask(format!("open {path} {mode}")).map(|bytes| u32::from(bytes[0]))
    }
    fn close(&mut self, file: u32) -> Result<(), i32> {
        self.ask(format!("close {file}")).map(|_| ())
    }
    fn read(&mut self, file: u32, count: usize) -> Result<Vec<u8>, i32> {
        self.ask(format!("read {file} {count}"))
    }
    fn write(&mut self, file: u32, bytes: &[u8]) -> Result<(), i32> {
        self.ask(format!("write {file} {bytes:?}")).map(|_| ())
    }
    fn flush(&mut self, file: u32) -> Result<(), i32> {
        self.ask(format!("flush {file}")).map(|_| ())
    }
    fn seek(&mut self, file: u32, offset: i64, from: Whence) -> Result<(), i32> {
        self.ask(format!("seek {file} {offset} {from:?}")).map(|_| ())
    }
    fn now(&mut self) -> u64 {
        self.asked.push("now".to_string());
        0x12_3456_789A_BCDE
    }
    fn sleep(&mut self, nanoseconds: u64) {
        self.asked.push(format!("sleep {nanoseconds}"));
    }
}

fn perform(
    main: &str,
    answers: Vec<Result<Vec<u8>, i32>>,
    limits: Limits,
) -> (Result<String, Diagnostic>, Vec<String>) {
    let program = program(&format!("{CALLS} {main}"));
    let code = code::Code::new(&program).expect("the program can be compiled");
    let mut machine = Machine::new(&code, limits);
    let mut host = Script { answers: answers.into(), ..Script::default() };
    let value = machine.call(program.entry.expect("main"), &[]);
    let value = value.and_then(|value| machine.run_io(value, &mut host)).and_then(|value| show(&mut machine, value));
    (value, host.asked)
}

/// The expression's IO in the given scripts, without and with collections everywhere.
fn check(io: &str, answers: Vec<Result<Vec<u8>, i32>>, asked: &[&str], value: &str) {
    for stress in [false, true] {
        let main = format!("(def main () {io})");
        let (found, questions) = perform(&main, answers.clone(), Limits { stress, ..Limits::default() });
        assert_eq!(questions, asked, "{io}");
        assert_eq!(found.expect("a value"), format!("IO/Done((13683217, 16719857), {value})"), "{io}");
    }
}

#[test]
fn every_function_of_the_host() {
    check("(call \"OPEN\" (tuple \"a/b\" \"r+\"))", vec![Ok(vec![3])], &["open a/b r+"], "Result/Ok(3)");
    check("(call \"CLOSE\" 3)", vec![], &["close 3"], "Result/Ok(*)");
    check("(call \"FLUSH\" 1)", vec![], &["flush 1"], "Result/Ok(*)");
    let read = "Result/Ok(List/Cons(104, List/Cons(200, List/Nil)))";
    check("(call \"READ\" (tuple 0 2))", vec![Ok(vec![104, 200])], &["read 0 2"], read);
    check("(call \"WRITE\" (tuple 1 (list 104 105 300)))", vec![], &["write 1 [104, 105, 44]"], "Result/Ok(*)");
    check("(call \"WRITE\" (tuple 1 \"hi\"))", vec![], &["write 1 [104, 105]"], "Result/Ok(*)");
    check("(call \"SEEK\" (tuple 3 -5i24 1i24))", vec![], &["seek 3 -5 Current"], "Result/Ok(*)");
    check("(call \"SEEK\" (tuple 3 16777211 2))", vec![], &["seek 3 -5 End"], "Result/Ok(*)");
    check("(call \"SEEK\" (tuple 3 3000000000u32 0))", vec![], &["seek 3 3000000000 Start"], "Result/Ok(*)");
    check("(call \"GET_TIME\" *)", vec![], &["now"], "Result/Ok((3430008, 10140894))");
    check("(call \"SLEEP\" (tuple 1 2))", vec![], &["sleep 16777218"], "Result/Ok(*)");
    let message = "Result/Err(IOError/Inner(String/Cons(100";
    let (value, _) = perform("(def main () (call \"DL_OPEN\" (tuple \"x\" 1)))", vec![], Limits::default());
    assert!(value.expect("a value").contains(message));
}

#[test]
fn errors_are_answers() {
    let errno = |number| format!("Result/Err(IOError/Inner({number}))");
    check("(call \"OPEN\" (tuple \"x\" \"r\"))", vec![Err(2)], &["open x r"], &errno(2));
    check("(call \"READ\" (tuple 9 1))", vec![Err(9)], &["read 9 1"], &errno(9));
    check("(call \"CLOSE\" *)", vec![], &[], &errno(9));
    check("(call \"READ\" (tuple List/Nil 4))", vec![], &[], &errno(9));
    let wrong_type = "Result/Err(IOError/Type)";
    for argument in ["READ\" 5", "OPEN\" (tuple 1 2)", "WRITE\" (tuple 1 2)", "WRITE\" (tuple 1 (list *))"] {
        check(&format!("(call \"{argument})"), vec![], &[], wrong_type);
    }
    for argument in ["SEEK\" (tuple 1 2)", "SEEK\" (tuple 1 2 7)", "SEEK\" (tuple 1 2.5 0)", "SLEEP\" 5"] {
        check(&format!("(call \"{argument})"), vec![], &[], wrong_type);
    }
    check("(call \"FLY\" 1)", vec![], &[], "Result/Err(IOError/Name)");
    check("(call 5 1)", vec![], &[], "Result/Err(IOError/Name)");
}

#[test]
fn steps_follow_each_other() {
    let text = "(bind (call \"READ\" (tuple 0 3)) (fn (r) (match Result r
        ((Result/Ok bytes) (bind (call \"WRITE\" (tuple 1 bytes)) (fn (w) (IO/Done IO/MAGIC (tuple bytes w)))))
        ((Result/Err e) (IO/Done IO/MAGIC e)))))";
    let value = "(List/Cons(1, List/Cons(2, List/Nil)), Result/Ok(*))";
    check(text, vec![Ok(vec![1, 2])], &["read 0 3", "write 1 [1, 2]"], value);
}

#[test]
fn arguments_are_computed_when_they_are_needed() {
    let text = "(def path () (String/Cons 97 rest)) (def rest () (String/Cons letter String/Nil)) (def letter () (+ 97 1))
                (def name () \"OPEN\") (def arg () (tuple path mode)) (def mode () \"r\") (def main () (call name arg))";
    for stress in [false, true] {
        let (value, asked) = perform(text, vec![Ok(vec![7])], Limits { stress, ..Limits::default() });
        assert_eq!(asked, ["open ab r"]);
        assert_eq!(value.expect("a value"), "IO/Done((13683217, 16719857), Result/Ok(7))");
    }
}

#[test]
fn what_is_no_io_is_given_back() {
    let (value, asked) = perform("(def main () (tuple 1 2))", vec![], Limits::default());
    assert_eq!((value.expect("a value").as_str(), asked.len()), ("(1, 2)", 0));
    let other = "(def main () (IO/Call (tuple 1 2) \"READ\" (tuple 0 1) (fn (x) x)))";
    let (value, asked) = perform(other, vec![], Limits::default());
    assert!(value.expect("a value").starts_with("IO/Call((1, 2)") && asked.is_empty());
}

#[test]
fn a_program_that_asks_for_ever_can_be_stopped() {
    let flag = Arc::new(AtomicBool::new(true));
    let text = "(def again (x) (bind (call \"FLUSH\" 1) again)) (def main () (again 0))";
    let (value, asked) = perform(text, vec![], Limits { interrupt: Some(flag), ..Limits::default() });
    assert_eq!(value.expect_err("it was stopped").code, Code::Interrupted);
    assert_eq!(asked.len(), 1);
}

#[test]
fn many_steps_and_much_data() {
    let text = "(def loop (n) (switch n (0 (IO/Done IO/MAGIC 1)) (_ p (bind (call \"WRITE\" (tuple 1 (list n))) (fn (w) (loop p))))))
                (def main () (loop 20000))";
    let (value, asked) = perform(text, vec![], Limits { memory: 4 << 20, ..Limits::default() });
    assert_eq!(value.expect("a value"), "IO/Done((13683217, 16719857), 1)");
    assert_eq!(asked.len(), 20_000);
    let size = "(def size (xs n) (match List xs ((List/Nil) n) ((List/Cons x t) (size t (+ n 1)))))
                (def main () (bind (call \"READ\" (tuple 0 1000000)) (fn (r) (match Result r
                    ((Result/Ok bytes) (IO/Done IO/MAGIC (size bytes 0))) ((Result/Err e) (IO/Done IO/MAGIC e))))))";
    let (value, _) = perform(size, vec![Ok(vec![7; 1_000_000])], Limits::default());
    assert_eq!(value.expect("a value"), "IO/Done((13683217, 16719857), 1000000)");
}
