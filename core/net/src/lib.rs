//! Interaction nets: their text, their rules, and the machine that reduces them.
//!
//! ```text
//! text (.hvm) ── parse ──> ast::Book ── book ──> templates ── reduce ──> normal form ── readback ──> tree ── print ──> text
//! lambda core ── lower ──────^
//! ```
//!
//! | what | see |
//! |---|---|
//! | nets as trees; their text, read and printed | [`girih_term::hvm`] |
//! | a port as a word of 32 bits | [`word`] |
//! | numbers and operators, in words or in nodes of their own | [`number`], [`boxed`], [`girih_term::hvm::function`] |
//! | **the rule table** | [`rules`] |
//! | pictures of the table's rows, and of nets | [`picture`] |
//! | definitions, ready to be called | [`book`] |
//! | what the arguments of definitions are, and the order of their calls | [`arguments`], [`order`] |
//! | the memory of a net, and the sequential machine | [`heap`], [`reduce`], [`rule_matching`] |
//! | a fast machine, on all cores of the host | [`parallel`], [`worker`] |
//! | a model of the machine of devices: many lanes, in supersteps | [`supersteps`] |
//! | this machine as kernels, which run on any device | [`device`] |
//! | the effects that a net from a file asks for | [`effects`] |
//! | a net in normal form as a tree | [`readback`] |
//! | random nets | [`random`] |
//! | Bend programs as nets | [`lower`] |
//! | values of these programs, for the evaluator and for effects; as text if they contain nets | [`values`], [`show`] |

mod arguments;
pub mod book;
pub mod boxed;
pub mod device;
pub mod effects;
pub mod heap;
pub mod lower;
pub mod number;
mod order;
pub mod parallel;
pub mod picture;
pub mod random;
pub mod readback;
pub mod reduce;
mod rule_matching;
pub mod rules;
pub mod show;
pub mod supersteps;
pub mod values;
pub mod word;
mod worker;
