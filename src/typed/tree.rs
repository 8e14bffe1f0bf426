//! Trees of Bend, and boxes for types that contain themselves.

use super::bend::Bend;
use super::from_bend::{Misfit, Seen, Slot, Taker};
use super::plan::{FieldOf, Mismatch, Planner, Shape, VariantOf};
use super::to_bend::Giver;
use girih_term::ty::Type;
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// `Tree(T)` of Bend: `![left, right]` and `!value`.
///
/// ```
/// use girih::Tree;
///
/// fn sum(tree: &Tree<u32>) -> u32 {
///     match tree {
///         Tree::Leaf(value) => *value,
///         Tree::Node(left, right) => sum(left) + sum(right),
///     }
/// }
/// let tree = Tree::node(Tree::Leaf(1), Tree::node(Tree::Leaf(2), Tree::Leaf(3)));
/// assert_eq!(sum(&tree), 6);
/// assert_eq!(tree.leaves().copied().collect::<Vec<_>>(), [1, 2, 3]);
/// ```
///
/// Nothing that a tree does by itself recurses: copies, comparisons and `{:?}` are of trees of any depth, as far as a leaf's own are.
pub enum Tree<T: 'static> {
    /// A value.
    Leaf(T),
    /// Two trees.
    Node(Deep<Tree<T>>, Deep<Tree<T>>),
}

impl<T> Tree<T> {
    /// A node of two trees.
    pub fn node(left: Tree<T>, right: Tree<T>) -> Tree<T> {
        Tree::Node(Deep::new(left), Deep::new(right))
    }

    /// A tree of the least depth whose leaves are these, from left to right; none without leaves.
    pub fn balanced(leaves: impl IntoIterator<Item = T>) -> Option<Tree<T>> {
        let mut level: Vec<Tree<T>> = leaves.into_iter().map(Tree::Leaf).collect();
        while level.len() > 1 {
            let mut trees = level.into_iter();
            let mut next = vec![];
            while let Some(left) = trees.next() {
                next.push(match trees.next() {
                    Some(right) => Tree::node(left, right),
                    None => left,
                });
            }
            level = next;
        }
        level.pop()
    }

    /// The values of the leaves from left to right.
    pub fn leaves(&self) -> impl Iterator<Item = &T> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            loop {
                match waiting.pop()? {
                    Tree::Leaf(value) => return Some(value),
                    Tree::Node(left, right) => waiting.extend([&**right, &**left]),
                }
            }
        })
    }
}

impl<T: Clone> Clone for Tree<T> {
    fn clone(&self) -> Tree<T> {
        enum Step<'t, T: 'static> {
            Copy(&'t Tree<T>),
            /// The last two copies are those of a node's trees.
            Join,
        }
        let (mut steps, mut copies) = (vec![Step::Copy(self)], vec![]);
        while let Some(step) = steps.pop() {
            match step {
                Step::Copy(Tree::Leaf(value)) => copies.push(Tree::Leaf(value.clone())),
                Step::Copy(Tree::Node(left, right)) => {
                    steps.extend([Step::Join, Step::Copy(&**right), Step::Copy(&**left)]);
                }
                Step::Join => {
                    let both = copies.pop().zip(copies.pop());
                    copies.extend(both.map(|(right, left)| Tree::node(left, right)));
                }
            }
        }
        match copies.pop() {
            Some(copy) => copy,
            None => unreachable!("each step leaves one copy more, or one in the place of two"),
        }
    }
}

impl<T: PartialEq> PartialEq for Tree<T> {
    fn eq(&self, other: &Tree<T>) -> bool {
        let mut waiting = vec![(self, other)];
        while let Some(pair) = waiting.pop() {
            match pair {
                (Tree::Leaf(a), Tree::Leaf(b)) if a == b => {}
                (Tree::Node(left, right), Tree::Node(other_left, other_right)) => {
                    waiting.extend([(&**right, &**other_right), (&**left, &**other_left)]);
                }
                (Tree::Leaf(_) | Tree::Node(..), _) => return false,
            }
        }
        true
    }
}

impl<T: Eq> Eq for Tree<T> {}

/// In one line, `Node(Leaf(1), Leaf(2))`; only what a leaf has is written as the format says.
impl<T: fmt::Debug> fmt::Debug for Tree<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        enum Step<'t, T: 'static> {
            Tree(&'t Tree<T>),
            Text(&'static str),
        }
        let mut steps = vec![Step::Tree(self)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Text(text) => f.write_str(text)?,
                Step::Tree(Tree::Leaf(value)) => {
                    f.write_str("Leaf(")?;
                    value.fmt(f)?;
                    f.write_str(")")?;
                }
                Step::Tree(Tree::Node(left, right)) => {
                    f.write_str("Node(")?;
                    steps.extend([Step::Text(")"), Step::Tree(&**right), Step::Text(", "), Step::Tree(&**left)]);
                }
            }
        }
        Ok(())
    }
}

impl<T: Bend> Bend for Tree<T> {
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
        let leaf = VariantOf { name: Some("Leaf"), fields: vec![FieldOf::unnamed::<T>()] };
        let branch = || FieldOf::unnamed::<Deep<Tree<T>>>();
        let node = VariantOf { name: Some("Node"), fields: vec![branch(), branch()] };
        planner.data::<Self>(ty, "Tree", &[leaf, node])
    }
    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        match self {
            Tree::Leaf(value) => to.variant(0, &[value]),
            Tree::Node(left, right) => to.variant(1, &[left, right]),
        }
    }
    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
        match from.variant(seen)? {
            0 => from.fields(0, &[T::take], |slots| {
                let value = slots.pop()?;
                slots.push(Tree::<T>::Leaf(value))
            }),
            _ => from.fields(1, &[Deep::<Tree<T>>::take, Deep::<Tree<T>>::take], |slots| {
                let right = slots.pop()?;
                let left = slots.pop()?;
                slots.push(Tree::<T>::Node(left, right))
            }),
        }
    }
}

/// A [`Box`] for types that contain themselves: what is in it is freed by a loop, however deep it is.
///
/// A `Box` in its place frees a list of a million links by a million nested calls, which is more than the stack of a thread has.
///
/// ```
/// use girih::{Bend, Deep};
///
/// #[derive(Bend)]
/// enum Chain {
///     End,
///     Link(u32, Deep<Chain>),
/// }
/// let chain = (0..1_000_000).fold(Chain::End, |rest, number| Chain::Link(number, Deep::new(rest)));
/// drop(chain);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deep<T: 'static> {
    /// None while it is freed.
    inner: Option<Box<T>>,
}

impl<T> Deep<T> {
    /// A box with this value in it.
    pub fn new(value: T) -> Deep<T> {
        Deep::from(Box::new(value))
    }

    /// The value.
    pub fn into_inner(mut self) -> T {
        match self.inner.take() {
            Some(value) => *value,
            None => unreachable!("nobody sees a value that is being freed"),
        }
    }
}

impl<T> From<Box<T>> for Deep<T> {
    fn from(value: Box<T>) -> Deep<T> {
        Deep { inner: Some(value) }
    }
}

impl<T> Deref for Deep<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.inner {
            Some(value) => value,
            None => unreachable!("nobody sees a value that is being freed"),
        }
    }
}

impl<T> DerefMut for Deep<T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.inner {
            Some(value) => value,
            None => unreachable!("nobody sees a value that is being freed"),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Deep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

thread_local! {
    /// What waits to be freed by the loop of this thread; none if no loop runs.
    static WAITING: RefCell<Option<Vec<Box<dyn Any>>>> = const { RefCell::new(None) };
}

impl<T: 'static> Drop for Deep<T> {
    fn drop(&mut self) {
        let Some(value) = self.inner.take() else { return };
        let first = WAITING.try_with(|waiting| {
            let mut waiting = waiting.borrow_mut();
            match &mut *waiting {
                Some(others) => {
                    others.push(value);
                    None
                }
                None => {
                    *waiting = Some(vec![]);
                    Some(value)
                }
            }
        });
        // An error says that the thread ends, and its locals are gone: then the value is gone, too, freed by the closure.
        let Ok(Some(first)) = first else { return };
        let _end = EndOfLoop;
        let mut next: Option<Box<dyn Any>> = Some(first);
        while let Some(value) = next {
            drop(value);
            next = WAITING.with(|waiting| waiting.borrow_mut().as_mut().and_then(Vec::pop));
        }
    }
}

/// Says that no loop runs any more, also where freeing a value has panicked.
struct EndOfLoop;

impl Drop for EndOfLoop {
    fn drop(&mut self) {
        let left = WAITING.with(|waiting| waiting.borrow_mut().take());
        drop(left);
    }
}

impl<T: Bend> Bend for Deep<T> {
    fn shape(ty: &Type, planner: &mut Planner<'_>) -> Result<Shape, Mismatch> {
        T::shape(ty, planner)
    }
    fn give<'a>(&'a self, to: &mut Giver<'a>) -> Result<(), Misfit> {
        (**self).give(to)
    }
    fn take(seen: Seen, from: &mut Taker<'_>) -> Result<(), Misfit> {
        T::take(seen, from)
    }
    fn unpack(slot: Slot) -> Option<Self> {
        T::unpack_boxed(slot).map(Deep::from)
    }
    fn unpack_boxed(slot: Slot) -> Option<Box<Self>> {
        Self::unpack(slot).map(Box::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn balanced_trees_have_their_leaves_in_order() {
        assert_eq!(Tree::<u32>::balanced([]), None);
        for count in 1..50_u32 {
            let tree = Tree::balanced(0..count).expect("it has leaves");
            assert_eq!(tree.leaves().copied().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn trees_are_copied_compared_and_shown_whatever_their_depth() {
        let deep = |last: u32| (0..1_000_000).fold(Tree::Leaf(last), |tree, n| Tree::node(tree, Tree::Leaf(n)));
        let work = move || {
            let (tree, other) = (deep(7), deep(8));
            let copy = tree.clone();
            assert!(copy == tree && copy != other && copy.leaves().eq(tree.leaves()));
            let shown = format!("{tree:?}");
            assert!(shown.starts_with("Node(Node(") && shown.ends_with("Leaf(999998)), Leaf(999999))"));
            assert!(Tree::node(Tree::Leaf(0), tree) != Tree::node(copy, Tree::Leaf(0)));
        };
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(work).expect("there are threads");
        assert!(thread.join().is_ok());
        let small = Tree::node(Tree::Leaf(1), Tree::node(Tree::Leaf(2), Tree::Leaf(3)));
        assert_eq!(format!("{small:?}"), "Node(Leaf(1), Node(Leaf(2), Leaf(3)))");
        assert_eq!(small.clone(), small);
    }

    #[test]
    fn deep_data_is_freed_whole() {
        static FREED: AtomicU32 = AtomicU32::new(0);
        struct Counted;
        impl Drop for Counted {
            fn drop(&mut self) {
                FREED.fetch_add(1, Ordering::Relaxed);
            }
        }
        let links = 300_000;
        let tree = (0..links).fold(Tree::Leaf(Counted), |tree, _| Tree::node(tree, Tree::Leaf(Counted)));
        drop(tree);
        assert_eq!(FREED.load(Ordering::Relaxed), links + 1);
        assert_eq!(Deep::new(5).into_inner(), 5);
    }
}
