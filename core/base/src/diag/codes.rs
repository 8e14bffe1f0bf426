//! The one table of diagnostics: a row gives the variant, the code, the severity or the warning's name, a title and an
//! explanation for `girih explain`.

use super::Severity;

/// Which stage finds it; the first two digits of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// 01: reading text.
    Syntax,
    /// 02: names, imports, definitions.
    Names,
    /// 03: types.
    Types,
    /// 04: pattern matching and warnings.
    Patterns,
    /// 05: while the program runs.
    Run,
    /// 06: limits of a tier, a device or the machine.
    Limits,
    /// 07: the text and the rules of the IR.
    Ir,
    /// 08: lowering the IR for a device.
    Lowering,
    /// 09: devices.
    Device,
    /// 10: kernels written in Python.
    Kernels,
    /// 11: graphs of tensors.
    Tensors,
}

macro_rules! codes {
    ($($variant:ident $code:literal $kind:ident $(($warning:literal))? : $title:literal, $explanation:literal;)*) => {
        /// A kind of error or warning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $title] $variant,)*
        }

        impl Code {
            /// All rows of the table, in order.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// The code as it is printed, for example `B0201`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $code,)* }
            }
            /// A few words that name it.
            pub fn title(self) -> &'static str {
                match self { $(Code::$variant => $title,)* }
            }
            /// What it means, why it is so, and what to do: a few sentences with an example.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation,)* }
            }
            /// The severity, unless the command line changes it.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => codes!(@severity $kind),)* }
            }
            /// The name under which `-W`, `-D` and `-A` know it; none if it is always an error.
            pub fn warning_name(self) -> Option<&'static str> {
                match self { $(Code::$variant => codes!(@warning $($warning)?),)* }
            }
        }
    };
    (@severity error) => { Severity::Error };
    (@severity warning) => { Severity::Warning };
    (@warning) => { None };
    (@warning $name:literal) => { Some($name) };
}

codes! {
    // 01: reading text
    UnexpectedText "B0101" error: "unexpected text",
        "The parser expected something else at this place. The message lists what may appear here.";
    Indentation "B0102" error: "wrong indentation",
        "A block is indented by exactly two spaces more than the statement that opens it, and all statements of a block \
         start in the same column. `def`, `type` and `object` at the top level start in the first column.";
    TabIndentation "B0103" error: "a tab in the indentation",
        "Indentation has a meaning in Bend. It consists of spaces only, because a tab has no agreed width. Replace each tab by spaces.";
    BadName "B0104" error: "a name that is not allowed",
        "A name consists of letters, digits, `_`, `.`, `-` and `/`. It may not contain `__`, which is reserved for names that the \
         compiler makes, and may not start with `//`.";
    BadLiteral "B0105" error: "a literal that cannot be read",
        "A number, character, string or symbol literal is malformed: a digit that its base does not have, an unknown escape sequence, \
         a missing closing quote, or a symbol of more than four base64 characters.";
    LiteralRange "B0106" error: "a number literal out of range",
        "Unsuffixed numbers have 24 bits: u24 goes from 0 to 16777215, i24 (written with a sign) from -8388608 to +8388607. Larger \
         numbers need a 32-bit type: `4000000000u32`, `-100000000i32`, `1.5f32`.";
    TooDeep "B0107" error: "nested too deeply",
        "Expressions, patterns and types may be nested a few hundred levels deep. Give inner parts names of their own.";
    MisplacedArgument "B0108" error: "a positional argument after a named one",
        "In a call, all arguments without a name come first: `f(1, 2, c = 3)`.";
    TaggedTerm "B0109" error: "a tag, which HVM2 does not have",
        "Tags such as `#label {a b}` belonged to an earlier Bend. All superpositions share one label now; leave the tag out.";
    MissingReturn "B0110" error: "a branch that does not return",
        "Either every branch of a function ends with `return`, or all branches of an inner statement end by assigning the same variable, \
         which the code after the statement then uses.";
    BranchMismatch "B0111" error: "branches that end differently",
        "The branches of `if`, `switch`, `match`, `fold` and `bend` must either all return, or all end by assigning the same pattern.";
    UnreachableStatement "B0112" error: "a statement after a return",
        "All branches of the preceding statement return, so this one can never run. Remove it, or let the branches assign.";

    ChainedComparison "B0113" warning("chained-comparison"): "a comparison of a comparison",
        "`a < b < c` compares the result of `a < b`, which is 1 or 0, with `c`. Write `(a < b) & (b < c)` for both. Parentheses around the first \
         comparison say that its 1 or 0 is meant.";

    // 02: names, imports, definitions
    UnboundName "B0201" error: "a name that is not defined",
        "No variable, definition or constructor of this name is in scope. Constructors are written with their type: `List/Cons`.";
    UnboundType "B0202" error: "a type that is not defined",
        "No type of this name is defined or imported. Type variables of a `type` are declared in parentheses after its name.";
    UnboundConstructor "B0203" error: "a constructor that is not defined",
        "A pattern or a constructor expression names a constructor that no type has. Write it as `Type/Constructor`.";
    Redefinition "B0204" error: "defined twice",
        "In a program, including the prelude, no two definitions may have the same name, nor may two constructors or two types.";
    DuplicateField "B0205" error: "a field that appears twice",
        "The fields of a constructor have different names, and a constructor expression names each field once.";
    MissingField "B0206" error: "a missing field or argument",
        "Named arguments and `{ field: value }` must name every parameter exactly once.";
    UnknownField "B0207" error: "a field or argument that does not exist",
        "A named argument or a field in braces does not belong to the function or constructor.";
    NotNamed "B0208" error: "named arguments where nothing is named",
        "Named arguments work only in direct calls of a definition or a constructor, because only these have parameter names.";
    NoConstructor "B0209" error: "`open` of a type with several constructors",
        "`open` brings the fields of a value into scope without a match, so its type must have exactly one constructor.";
    ImportNotFound "B0210" error: "an import that cannot be found",
        "A path that starts with `./` or `../` is relative to the importing file, any other path to the main file. `.bend` is added.";
    ImportMissingName "B0211" error: "an imported name that the file does not have",
        "The file was found, but it does not define this name.";
    ImportConflict "B0212" error: "imports that clash",
        "Two imports, or an import and a definition, give the same name to different things. Rename one with `as`.";
    ImportShadow "B0213" error("import-shadow"): "an import that hides another",
        "Two imports bind the same name. Rename one with `as`; with `-W import-shadow`, the later one is used.";
    ImportMain "B0214" error: "the main file is imported",
        "The files that a program imports cannot import its main file. Move what they share into a file of its own.";
    MissingMain "B0215" error("missing-main"): "no entry point",
        "To be run, a program needs a definition called `main` (or `Main`, or the one named by `--entrypoint`).";
    ManyMains "B0216" error: "several entry points",
        "`main` and `Main` are both defined. Keep one, or choose one with `--entrypoint`.";
    MainPatterns "B0217" error: "an entry point with patterns",
        "The entry point has one rule, whose parameters are plain variables, because it is applied to the program's arguments from \
         outside.";
    UnusedDefinition "B0218" warning("unused-definition"): "a definition that is never used",
        "The entry point does not reach this definition.";
    RecursionCycle "B0219" error("recursion-cycle"): "a definition that calls itself without end",
        "The program certainly reaches this definition, and every call of it calls it again before it can return, since there is no \
         branch between: the run would never end.";
    UnboundScopeless "B0220" error: "a scopeless variable that is not bound or used once",
        "A scopeless variable `$x` is bound exactly once and used exactly once in its definition.";
    NoMonad "B0221" error: "a `with` block of a type without `bind`",
        "`with T:` needs the definition `T/bind`, and `T/wrap` if `wrap` is used.";
    AskOutside "B0222" error: "`<-` outside a `with` block",
        "`x <- e` runs a step of the monad that the enclosing `with` block names. There is none here.";
    ScopelessCapture "B0223" error: "a scopeless variable that leaves a `fold`, `bend` or local `def`",
        "These become functions of their own, which a scopeless variable cannot cross. Bind and use it inside.";
    ForkOutside "B0224" error: "`fork` outside the `when` arm of a `bend`",
        "`fork` is the recursive call of the enclosing `bend`, and exists in its `when` arm only.";
    RepeatedBind "B0225" warning("repeated-bind"): "a pattern that binds a name twice",
        "The later variable of the same name hides the earlier one.";
    MainReferenced "B0226" error: "the entry point is used inside the program",
        "The entry point is applied to the program's arguments from outside, once. Move the part that the program needs into a function \
         of its own.";
    LooseWire "B0227" error: "a wire without two ends",
        "In a net, each name of a wire appears exactly twice in its definition, once for each end of the wire. Link an end that is not \
         needed with `*`.";

    // 03: types
    TypeMismatch "B0301" error: "types that do not fit",
        "The expression has one type and its place needs another. Functions with a type annotation are checked. To have a function \
         checked while it runs instead, annotate with `Any`, leave the annotation out, or write `unchecked`.";
    InfiniteType "B0302" error: "a type that would contain itself",
        "Self application such as `λx (x x)` has no finite type. Leave the annotation out, and the function is checked while it runs.";
    TypeArity "B0303" error: "a type with the wrong number of arguments",
        "A generic type takes as many arguments as its definition declares variables.";
    AnnotationTooGeneral "B0304" error: "an annotation that promises too much",
        "The annotation says that the function works for every type, but its body works for particular types only.";
    Untypeable "B0305" error: "something that a checked function may not contain",
        "Superpositions and scopeless variables have no type. Mark the function `unchecked` or leave its annotation out.";
    NotNumeric "B0306" error: "an operator on something that is not a number",
        "Arithmetic and comparison work on numbers of one type. `%` and bit operators need integers, `**` needs floats, shifts need \
         unsigned integers. Convert with `u24/to_f24` and its siblings; 24-bit numbers become 32-bit numbers of their kind automatically.";

    TypeTooLarge "B0307" error: "a type that is too large",
        "The type of an expression can be exponentially larger than the expression, for example where functions that build pairs of pairs \
         are applied to each other. There is a limit. Give inner parts functions of their own with type annotations.";

    RustType "B0308" error: "a Rust type that does not fit",
        "A function of the program was looked up from Rust with types that are not its own. u24 and u32 of Bend are `u32` in Rust, i24 and i32 are `i32`, \
         f24 and f32 are `f32`; `List(T)` is `Vec<T>`, `Maybe(T)` is `Option<T>`, and a type that `#[derive(Bend)]` stands before has the constructors and the \
         fields of the program's type of that name.";

    // 04: patterns
    NotExhaustive "B0401" error: "a match that misses a case",
        "A match needs an arm for every constructor of its type, or `_`. A match on numbers needs `_`.";
    MixedPatterns "B0402" error: "patterns of different types in one column",
        "All patterns of one argument belong to the same type.";
    PatternArity "B0403" error: "a pattern with the wrong number of fields",
        "A constructor pattern has as many sub-patterns as the constructor has fields, and a tuple pattern as many as the tuple has \
         parts.";
    SwitchOrder "B0404" error: "switch cases out of order",
        "The cases of a `switch` are 0, 1, 2, … without a gap, and `_` at the end. Functional equations may match any numbers.";
    IrrefutableMatch "B0405" error("irrefutable-match"): "a match whose first arm always matches",
        "The first arm is a variable, not a constructor, so it matches every value. A constructor is written as `Type/Constructor`. If \
         this is what you want, `-W irrefutable-match` or `-A irrefutable-match` allows it.";
    RedundantMatch "B0406" warning("redundant-match"): "an arm for a constructor that was matched before",
        "An earlier arm already matches this constructor.";
    UnreachableMatch "B0407" warning("unreachable-match"): "an arm that is never reached",
        "Earlier arms or rules cover everything that this one matches.";
    RuleArity "B0408" error: "rules with different numbers of patterns",
        "All rules of a function have the same number of patterns.";

    // 05: while the program runs
    DivisionByZero "B0501" error: "division by zero",
        "An integer was divided by zero, or the remainder of a division by zero was taken. Floats divide to infinity instead.";
    NoMatchingCase "B0502" error: "no case matches",
        "A match has no arm for the value that it got. This happens in functions that are not type-checked.";
    NotAFunction "B0503" error: "a call of something that is not a function",
        "A number or a pair was applied to arguments.";
    NotANumber "B0504" error: "an operation on something that is not a number",
        "An arithmetic operation got a function, a constructor or a tuple.";
    MixedNumbers "B0505" error: "numbers of different types in one operation",
        "The operands of an operation must have the same type; 24-bit numbers become 32-bit numbers of their kind automatically. Convert \
         with `u24/to_f24` and its siblings.";
    UnsupportedOperation "B0506" error: "an operation that this type of number does not have",
        "`%` and bit operators need integers, `**` needs floats, and shifts need unsigned integers.";
    SelfDependent "B0507" error: "a definition that needs its own value",
        "Computing this definition needs its own value, as in `x = x + 1`.";
    OutOfMemory "B0508" error: "out of memory",
        "The live data of the program is larger than `--memory` allows. The message says how much is live.";
    Interrupted "B0509" error: "stopped",
        "The program was stopped by Ctrl-C or by `--timeout`.";
    NotATuple "B0510" error: "taking apart something that is not a tuple",
        "A tuple pattern was applied to a number or a constructor.";
    TooManyCalls "B0511" error: "calls nested too deeply",
        "Each call that has not returned keeps its variables. A recursion that never ends fills all memory with them. A call that is the \
         last step of a function takes none.";
    CopiedDuplicator "B0512" error: "a definition that duplicates is duplicated",
        "In a net, `{a b}` met the name of a definition that contains duplications, in its own net or in one that it refers to. All \
         duplications have the same label, so the copies would exchange their parts.";
    NotAValue "B0513" error: "a net that is not a value",
        "The program ran as an interaction net, which takes data apart without checking what it is. An unchecked program that takes one \
         kind of data for another can end in a net without a meaning.";

    RustValue "B0514" error: "a value that the other side cannot have",
        "A number from Rust is out of the range of its Bend type: u24 goes from 0 to 16777215, i24 from -8388608 to +8388607. Or a function without a type \
         annotation gave Rust a value of another form than the one that it was looked up with.";
    TestFailed "B0515" error: "a test that fails",
        "A function `test_*` without parameters is a test. It passes if its value is a number other than 0. If it ends with a comparison, `==` and `!=` also \
         compare lists, texts and other data, and a failure shows both sides. An example in a comment, `# >>> EXPRESSION`, passes if the next line is what \
         `girih run` would print of its value.";

    // 06: limits
    NeedsNets "B0601" error: "needs the net tier",
        "Superpositions `{a b}`, scopeless variables `$x` and `hvm` definitions have the semantics of interaction nets, which the direct \
         tier and the evaluator do not have. A program that uses them runs as a net unless `--tier direct` is given or a device is named.";
    CannotRead "B0602" error: "a file that cannot be read",
        "The file does not exist, is not readable, is not UTF-8 text, or is 4 GiB or larger.";
    CannotWrite "B0603" error: "a file that cannot be written",
        "The folder does not exist or is not writable.";
    NotAShader "B0605" error: "a file without a shader",
        "An image shader defines `shader(x: u24, y: u24, t: f24) -> u24`, or `render(depth, t)`, which returns a tree of pixels.";
    NoDevice "B0606" error: "no such device",
        "You asked for a device that this machine does not have or that this version of girih cannot use.";
    TooManySteps "B0608" error: "too many interactions",
        "The net was given a number of interactions and did not finish within them. It may never finish.";
    TooLarge "B0607" error: "too large for the evaluator",
        "A program has at most 65,535 constructors, a constructor at most that many fields, and a function at most that many parameters.";
    NotBuilt "B0609" error: "a part that this build does not have",
        "Girih's languages and devices are features of the build: `bend`, `net`, `triton`, `cpu`, `cuda` and `wgpu`. All of them are \
         built by default. With `--no-default-features`, `--features` names those that you want.";
    Internal "B0699" error: "a bug in girih",
        "This should not happen. Please report it together with the program that shows it.";

    // 07: the text and the rules of the IR. 0701-0729 text, 0730-0779 the verifier, 0780-0799 the interpreter
    IrSyntax "B0701" error: "unexpected text in an IR file",
        "The parser of `.gir` text expected something else at this place. The message says what may appear here.";
    IrName "B0702" error: "a name of the IR that is not defined",
        "Values are named `%name` and functions `@name`. A value is visible after its definition, in the region where it is defined and \
         in regions inside that one.";
    IrRedefinition "B0703" error: "a name of the IR that is defined twice",
        "A name has one meaning wherever it is visible: the name of a value cannot be defined again in the same region or in a region \
         inside it. Functions have different names, and an attribute appears once.";
    IrUnknown "B0704" error: "an operation, type or attribute that the IR does not have",
        "`docs/ir.md` lists all operations with their types and attributes.";
    IrLiteral "B0705" error: "a literal that does not fit its place",
        "A literal has the type that its place requires. Integers must be in range, `true` and `false` are the only values of type \
         `bool`, and `inf`, `nan` and numbers with a point are floats. `bits(0x7fc00001)` gives the bits of any type. Where the place \
         requires no type, `(const.f32 1.0)` names it.";
    IrUntyped "B0706" error: "an operation whose type is not clear",
        "The type follows the name of the operation, as in `add.f32`, unless an operand of known type determines it. Some operations have \
         no type, and some have a dimension instead: `global_id.x`. Results of `if` and `switch` have their types after their names.";
    IrArity "B0707" error: "a wrong number of operands or results",
        "Each operation takes and gives as many values as its row in the reference lists; an access `%memory[%index]` counts as one \
         operand.";
    IrRegion "B0708" error: "a region that ends wrongly, or a jump that leads nowhere",
        "A region ends with `yield` (of `if` and `switch`), `continue`, `while` or `break` (of `loop`), `return` (anywhere), `grid` (of \
         `launch`). `yield`, `continue` and `return` without values may be left out. Nothing follows the end.";
    IrRun "B0709" error: "a run line that cannot be read",
        "`; run: @f(1, 2) == 3` calls a function, and `; run: @k grid(4) (2.0, f32[1, 2] -> f32[2, 4], 7)` launches a kernel. There is \
         one argument for each parameter; for a memory, it says what the memory holds before and, after `->`, afterwards.";
    IrType "B0730" error: "a value of the wrong type",
        "Each operation of the IR takes and gives the types that its row in the reference lists; nothing is converted implicitly.";
    IrMalformed "B0731" error: "a function whose tables do not fit together",
        "A program built this function, rather than reading it from text. The function refers to values, instructions or regions that it \
         does not have, or to one instruction or region from two places. This is a mistake in the program that built it.";
    IrTerminator "B0732" error: "a region that ends wrongly",
        "The last instruction of a region, and no other, is a terminator: `yield` in the regions of `if` and `switch`, `break`, `continue` and \
         `while` inside a loop, `return` anywhere in a body, `grid` in a `launch` region.";
    IrCount "B0733" error: "a wrong number of operands, results or regions",
        "The row of an operation in the reference says how many operands, results and regions it has. The values that a region yields, a \
         loop carries or a function returns must be as many as the instruction, the loop or the function declares.";
    IrSuffix "B0734" error: "an operation on a type that it is not made for",
        "The suffix of an operation is one of the types that its row in the reference lists: `xor.f32` does not exist, `xor.u32` does. Short vectors \
         have 2, 4, 8 or 16 lanes and at most 16 bytes.";
    IrAttribute "B0735" error: "an attribute that does not belong there",
        "An operation has the attributes that its row in the reference lists, each at most once, with values that make sense for it.";
    IrConstant "B0736" error: "a constant out of range",
        "A constant fits its type, the position of an element is less than the number of elements, and the cases of a `switch` are different \
         numbers of its type.";
    IrCall "B0737" error: "a call that is not possible",
        "A call names a function, not a kernel, and passes one argument of the right type for each parameter. Kernels and the functions \
         that they call are not recursive, because most devices have no stack.";
    IrLaunch "B0738" error: "a launch that is not possible",
        "A workgroup has at least one invocation in each dimension, and the lanes of a subgroup are a power of two. The host runs the \
         `launch` region of a kernel: the region contains only arithmetic on scalars and ends with `grid`.";
    IrHandle "B0739" error: "a memory used as a value",
        "Memories are not numbers: they appear only in accesses and calls. They cannot be yielded, carried by a loop, returned or \
         selected. Select the index instead, or access each memory in a region of its own.";
    IrMemory "B0740" error: "a memory used in a way that its declaration does not allow",
        "Shared and private memory is read and written as the scalar that it was declared with, or as vectors of it if the memory is \
         aligned to them. Its length is a `u32` that is known when the kernel is launched.";
    IrReadonly "B0741" error: "a write to read-only memory",
        "A parameter marked `readonly` promises that the whole launch does not write its buffer, so that loads from it may be moved and \
         cached.";
    IrAsync "B0742" error: "an asynchronous operation of an impossible size",
        "Asynchronous copies move 4, 8 or 16 bytes. Matrix products of a warpgroup are m64nNk16, N a multiple of 8 up to 256, with \
         accumulators `regs<f32, N / 2>`.";
    IrDivergent "B0743" error: "an operation that not all invocations reach together",
        "All invocations of the workgroup must reach a barrier together, and all of a subgroup must reach a subgroup operation together. \
         So these operations may not depend on anything that differs between the invocations, such as `local_id`: neither under a \
         condition, nor in a loop, nor after a `return`. Move the operation out, or make the condition uniform (`any`, `uniform_load`).";
    IrNotUniform "B0744" error: "an operand that must be the same everywhere",
        "The lane of a `broadcast`, the distance of a shuffle, the index of a `uniform_load` and the place of a fragment must be the same \
         number in all invocations that reach the operation together.";
    IrParameter "B0745" error: "a parameter that is not possible",
        "Kernels take buffers and scalars. `divisible` belongs to integers; `align`, `readonly` and `noalias` belong to memories.";
    IrRepeated "B0746" error: "a name that appears twice",
        "The functions and kernels of a module have different names, and so have the specialisation constants of a kernel.";
    IrNesting "B0747" error: "regions nested too deeply",
        "Regions may be nested 256 levels deep. Move inner parts into functions of their own.";
    IrHeap "B0748" error: "a cell or a global that does not fit its table",
        "Layouts are tuples of `term`, `u32`, `i32` and `f32`: `layout @node(term, u32)`. A cell is made and opened with all fields of \
         its layout, in order. A function without parameters computes a global and gives one `term`.";
    IrTaskForm "B0749" error: "task form where it is not allowed",
        "Functions in task form have numbers, terms, cells and forked calls, and may be recursive. Kernels and the functions that they \
         call run on devices without a stack and a heap. So no kernel may reach task form, and task form has no memories, positions or \
         vectors.";
    IrOwnership "B0750" error: "a term without exactly one owner",
        "Each path through a function consumes an owned `term` exactly once: it passes, stores, opens, drops, shares or returns it. A \
         field from `cell.get` belongs to the cell. `%a, %b = term.share %x` makes two ownerships, and `term.drop %x` ends one. A word \
         from `term.pack` has no owner.";
    IrJoin "B0751" error: "a forked call that is not joined once",
        "`fork` gives a token. `join` of the same function takes it exactly once, in the region of the `fork`; nothing else may take it.";
    IrTileForm "B0752" error: "tile form where it is not allowed",
        "A whole program runs a function that works on tiles. The function accesses buffers by `tile.load`, `tile.store` and \
         `tile.atomic`, knows its `workgroup_id`, and has no barriers, no lanes and no memory of its own: the lowering to threads adds \
         these.";
    IrShape "B0753" error: "tiles whose shapes do not fit together",
        "Operations on tiles state which shapes they take: an addition takes two tiles of one shape, `tile.broadcast` repeats dimensions \
         of length 1, and `tile.dot` multiplies M x K by K x N.";
    OutOfBounds "B0780" error: "an access outside a memory",
        "The interpreter found a load, a store or an atomic operation whose index lies outside its memory, or an element beyond the end \
         of a vector.";
    Race "B0781" error: "a race",
        "Two invocations access one place without a barrier or a dispatch boundary between them, at least one of them writes, and they \
         are not both atomic; or a tile has different elements for one place. The result then differs from device to device and from run \
         to run.";
    UndefinedValue "B0782" error: "a use of something undefined",
        "An undefined value reached a branch, an index, a buffer or an atomic operation. A value is undefined if it was read from shared \
         or private memory before it was written, if it comes from a lane that does not exist, or if it is the result of `nowrap` \
         arithmetic that wraps. A program may compute with such a value and discard it by `select`, but nothing may depend on it.";
    NotFinished "B0783" error: "a result used before it was waited for",
        "An asynchronous copy or matrix product is done only after a wait: `async.wait` and then a barrier for copies, `wgmma.wait` with \
         the accumulators as operands for products.";
    OverwrittenInFlight "B0784" error: "a write to memory that an asynchronous operation uses",
        "Shared memory that an asynchronous copy writes or a matrix product reads must not be written before the program has waited for \
         that operation.";
    NotUniform "B0785" error: "an operand that differs between invocations",
        "The lane of a `broadcast`, the distance of a shuffle, the index of a `uniform_load` and the place of a matrix must be the same \
         number in all invocations that reach the operation together.";
    NotTogether "B0786" error: "an operation that only some invocations have reached",
        "All invocations of the workgroup must reach a barrier, all of the subgroup a subgroup operation, and all 128 of the warpgroup a \
         matrix product. If some are missing, a device may hang or give any result.";
    Deadlock "B0787" error: "a wait that nothing ends",
        "An `mbarrier.wait` waits for a phase that no invocation can complete any longer. The count given to `mbarrier.init` must be the \
         number of arrivals.";
    OutOfFuel "B0788" error: "the step limit was reached",
        "The interpreter was told to stop after a number of steps. A loop that never ends looks the same.";
    MissingFence "B0789" error: "a missing fence before a matrix product",
        "`wgmma.fence` must come before the first product on registers that other operations have written. Between writes to shared \
         memory and products that read it, the invocations that wrote must run `fence.async`, followed by a barrier.";
    BrokenPromise "B0790" error: "a launch that breaks a promise",
        "The launch passes the same buffer twice. But the whole launch may not write a `readonly` parameter, not even through another \
         parameter, and no other parameter may reach a byte of a `noalias` parameter.";
    NotACell "B0791" error: "a word that names no such cell",
        "The interpreter found an operation on a freed cell, on a cell of another layout, or on a word that names no cell. A function in \
         task form must know that a word is a cell before it reads it, from the word's tag or from the way the program is made.";
    Leak "B0792" error: "a cell with a wrong number of owners",
        "After a call, the checked interpreter counts the owners of each cell: fields of other cells, globals and the host. A cell \
         without owners has leaked. A cell with fewer owners than its count says will never be freed.";

    AssertionFailed "B0793" error: "an assertion that fails",
        "`tl.device_assert(condition, \"why\")` ends the launch if the condition is false for some element.";

    // 08: lowering
    NeedsFeature "B0801" error: "a device that lacks something the kernel needs",
        "The kernel uses an operation or a type that the device does not have and that nothing can replace. `girih devices` lists what \
         each device has.";
    OverLimit "B0802" error: "a kernel beyond a limit of the device",
        "The workgroup size, the shared memory, the number of buffers or another quantity of the kernel exceeds what the device allows.";

    SharedMemory "B0803" warning("shared-memory"): "a kernel whose tiles all go through shared memory",
        "Tiles are usually spread over the registers of a workgroup, each in a layout that suits what is done with it. Where registers or shared memory do not \
         suffice for that, a kernel keeps them in order instead, and elements change hands through shared memory: the result is the same, but slower. \
         Smaller blocks, or more warps, leave each invocation less to hold. `girih launch -v` and `girih check` say it.";

    // 09: devices
    DeviceMemory "B0902" error: "out of device memory",
        "The device cannot allocate a buffer of this size.";
    DeviceLost "B0903" error: "the device was lost",
        "The driver gave up the device, usually because a kernel ran too long or accessed memory outside its buffers.";
    DeviceTimeout "B0904" error: "the device did not finish in time",
        "A launch was still running when the time limit was reached.";
    DeviceCompiler "B0905" error: "a driver or code generator refused a kernel",
        "The driver or code generator did not accept the generated code. This is a bug in Girih: kernels that pass the verifier always \
         compile. The message names the line of the kernel.";
    BadArguments "B0906" error: "arguments that do not fit the kernel",
        "A launch passes one argument for each parameter of the kernel: a buffer for `buffer`, a number of the parameter's type \
         otherwise.";
    Trap "B0907" error: "a trap",
        "The kernel reported a trap by `trap_if`.";
    BenchmarkFailed "B0908" error: "a benchmark with a wrong result",
        "Each program that is measured has a known value, and so has the same job in C. A time is only shown for the correct value.";

    // 10: kernels written in Python
    PythonSyntax "B1001" error: "text that is not Python",
        "The whole file of a kernel is read as Python 3.12, because the code around a kernel says what its names mean.";
    KernelSyntax "B1002" error: "Python that a kernel cannot contain",
        "A kernel is a function of numbers, tiles and pointers. Classes, exceptions, generators, dictionaries and most of Python's \
         library have no meaning on a device; loops have no `break` and `continue`, and there is no `return` inside a loop.";
    KernelName "B1003" error: "a name that a kernel does not know",
        "A kernel knows its own variables, the constants and `@triton.jit` functions of its file and of files that it imports, and the \
         operations of `triton.language`.";
    KernelType "B1004" error: "types that do not fit together",
        "Numbers are converted by Triton's rules: a Python number never widens a tensor of its own or a higher kind; otherwise `f64` wins \
         over `f32`, `f32` over `f16`, and `bf16` with `f16` gives `f32`. Pointers can be added to integers, loaded from and stored to.";
    KernelShape "B1005" error: "shapes that do not fit together",
        "Shapes are made equal by adding dimensions of length 1 on the left and repeating them. Every length is a power of two, and a \
         tile has at most 1,048,576 elements.";
    KernelConstant "B1006" error: "a value that must be known when a kernel is compiled",
        "Shapes, axes and types are `tl.constexpr`: literals, parameters with that annotation, module constants, and anything computed \
         from these. A variable is one if it is written `NAME: tl.constexpr = ..`; without the annotation, an assigned number becomes a \
         value of the device.";
    KernelArgument "B1007" error: "arguments that do not fit",
        "A call passes each parameter once, by position or by name, as a value that the operation accepts.";
    KernelPointer "B1008" error: "a pointer whose buffer is not known",
        "A pointer is a buffer and an index. The buffer of each access must be known when the kernel is compiled, because on many devices \
         buffers have no addresses. A pointer cannot be chosen among several buffers at run time, carried by a loop that changes its \
         buffer, or made from an integer.";
    KernelCarried "B1009" error: "a variable that changes its type",
        "A variable that a loop or both branches of an `if` assign must keep its type and shape, because afterwards it is a single value \
         of the device. Convert it by `.to(..)`, or begin with a value of the right type.";
    KernelRefused "B1010" error: "an operation that is not available",
        "Some operations of Triton work only on one vendor's cards, or are not implemented here. They are refused by name.";
    KernelAssert "B1011" error: "a static assertion that fails",
        "`tl.static_assert(condition, \"why\")` is decided when the kernel is compiled.";
    KernelEntry "B1012" error: "no such kernel",
        "A kernel of the IR begins with `kernel @name(..)`. In Python it is a function with the decorator `@triton.jit`, or one that is \
         passed to `triton.jit(..)`, in the named file.";
    KernelImport "B1013" error: "an import that cannot be found",
        "Girih knows `triton` and its parts. It looks for other modules beside the kernel's file and in the folders above, and reads them \
         only if a kernel uses one of their names.";

    // 11: graphs of tensors
    TensorShape "B1101" error: "tensors whose shapes do not fit",
        "Operations that work element by element take tensors of one shape; dimensions of length 1 are repeated by `broadcast`. A product of matrices \
         needs as many columns of the first as rows of the second.";
    TensorType "B1102" error: "tensors whose elements do not fit",
        "An operation takes tensors of one element type, which its row in the table of operations must have. `convert` gives the same numbers as another type.";
    TensorText "B1103" error: "text that is not a graph of tensors",
        "A graph has a line for each node, `%2: f32[4] = add %0, %1`, and ends with `return %2`. Attributes follow the operands: `sum %2 axes(0)`.";
    TensorData "B1104" error: "data that does not fit a graph",
        "A graph is given as many tensors as it has inputs, each with as many elements as its shape says.";
    TensorGradient "B1105" error: "a derivative that does not exist",
        "Derivatives are taken of one float, a tensor without dimensions, with respect to tensors of floats. Sum a tensor to get one float.";
    OnnxFile "B1106" error: "a file that is no ONNX model",
        "An ONNX model is a graph of operators with the version of their standard, weights of the types that tensors have, and inputs and outputs that are tensors. A \
         model is given as many tensors as it has inputs, each of its type.";
    OnnxOperator "B1107" error: "an operator of ONNX that cannot be imported",
        "The operator is not among those that are imported, or it is used in a way that has no meaning in a graph whose shapes are known: `docs/onnx.md` lists the \
         operators. Elements that decide about a shape, such as the operands of `Reshape`, are part of what is compiled.";
}

impl Code {
    /// The row with this code (`B0201`, in any case) or warning name (`unused-definition`).
    pub fn find(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|c| c.as_str().eq_ignore_ascii_case(text) || c.warning_name() == Some(text))
    }

    /// The stage that finds it.
    pub fn stage(self) -> Stage {
        match &self.as_str()[1..3] {
            "01" => Stage::Syntax,
            "02" => Stage::Names,
            "03" => Stage::Types,
            "04" => Stage::Patterns,
            "05" => Stage::Run,
            "07" => Stage::Ir,
            "08" => Stage::Lowering,
            "09" => Stage::Device,
            "10" => Stage::Kernels,
            "11" => Stage::Tensors,
            _ => Stage::Limits,
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_found_by_their_text() {
        for (i, &code) in Code::ALL.iter().enumerate() {
            assert_eq!(Code::find(code.as_str()), Some(code));
            assert!(Code::ALL[i + 1..].iter().all(|c| c.as_str() != code.as_str()), "{code} stands twice");
            assert!(code.explanation().len() > 20 && !code.title().ends_with('.'), "{code}");
        }
    }
}
