//! What the arguments of definitions are, as far as their nets show it: a net has no directions, but functions and calls have shapes.
//!
//! Nothing that comes out depends on it. It says which calls are worth waiting for an argument: see [`device`](super::device).

use super::book::{Book, Template};
use super::word::{Kind, Word};

/// The most arguments that are looked at.
const MOST: u32 = 16;

/// How many pairs there are along the spine of a tree: a function of two arguments is `(a (b result))`.
fn spine(template: &Template, mut word: Word) -> u32 {
    let mut length = 0;
    while word.kind() == Kind::Con {
        length += 1;
        word = template.nodes[word.index()].1[1];
    }
    length
}

/// How many arguments the definitions of a book take: as many as there are pairs along the spine where it is shortest, of the definition's root or of those that it meets. What is
/// behind is a result, which may be a pair too. None if it is neither called nor chosen by name.
pub fn counts(book: &Book) -> Vec<u32> {
    let mut met = vec![u32::MAX; book.definitions.len()];
    for definition in book.definitions.iter() {
        let template = &definition.template;
        for (a, b) in template.links.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]) {
            if a.kind() == Kind::Ref && b.kind() == Kind::Con {
                meets(template, a, spine(template, b), &mut met);
            }
        }
        // The arms of a choice: what it gives for zero, and what it gives for the number before.
        for (kind, [arms, result]) in &template.nodes {
            if *kind == Kind::Swi && arms.kind() == Kind::Con {
                let ([zero, other], length) = (template.nodes[arms.index()].1, spine(template, *result));
                meets(template, zero, length, &mut met);
                meets(template, other, length + 1, &mut met);
            }
        }
    }
    let own = book.definitions.iter().map(|definition| spine(&definition.template, definition.template.root));
    met.into_iter().zip(own).map(|(met, own)| if met == u32::MAX { 0 } else { met.min(own) }).collect()
}

/// A tree meets a spine of so many pairs.
fn meets(template: &Template, word: Word, length: u32, met: &mut [u32]) {
    match word.kind() {
        Kind::Ref => met[word.index()] = met[word.index()].min(length),
        Kind::Con if length > 0 => meets(template, template.nodes[word.index()].1[1], length - 1, met),
        _ => {}
    }
}

/// For each definition, a bit for each argument that it takes apart, computes with or copies.
pub fn needed(book: &Book) -> Vec<u32> {
    let needs = |template: &Template, count: u32| {
        let (mut word, mut bits) = (template.root, 0);
        for i in 0..count.min(MOST) {
            let [argument, rest] = template.nodes[word.index()].1;
            bits |= u32::from(argument.kind().is_node()) << i;
            word = rest;
        }
        bits
    };
    book.definitions.iter().zip(counts(book)).map(|(definition, count)| needs(&definition.template, count)).collect()
}
