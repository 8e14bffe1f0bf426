//! Which definitions are inferred together, and in which order.
//!
//! A definition that the compiler made of a part of another one, and that is used in one place only, belongs to the *cluster*
//! of the definition that uses it: both are inferred as one, so that what is known at the place of use is known inside.
//! Clusters that call each other form a *group*; groups are inferred after all groups that they call.

use super::place::walk;
use girih_base::idx::IndexVec;
use girih_term::{Body, DefId, Origin, Program, TermKind};
use std::collections::HashMap;

/// For each definition the definitions that it mentions, as often as it does.
pub(super) type Calls = IndexVec<DefId, Vec<DefId>>;

/// The calls between the definitions that are `checked`.
pub(super) fn calls(program: &Program, checked: &dyn Fn(DefId) -> bool) -> Calls {
    let calls_of = |(id, def): (DefId, &girih_term::Def)| {
        let mut called = Vec::new();
        if let (Body::Term(term), true) = (&def.body, checked(id)) {
            walk(term, &mut |part| {
                if let TermKind::Global(callee) = part.kind
                    && checked(callee)
                {
                    called.push(callee);
                }
                true
            });
        }
        called
    };
    program.defs.iter_enumerated().map(calls_of).collect()
}

/// For each definition the one to whose cluster it belongs: itself, or the one that it is a part of.
pub(super) fn roots(program: &Program, calls: &Calls) -> IndexVec<DefId, DefId> {
    let mut users: IndexVec<DefId, Vec<DefId>> = program.defs.iter().map(|_| Vec::new()).collect();
    for (user, called) in calls.iter_enumerated() {
        for callee in called {
            if program.defs[*callee].origin.is_generated() && !is_inside(program, user, *callee) {
                users[*callee].push(user);
            }
        }
    }
    let mut roots: IndexVec<DefId, DefId> = program.defs.ids().collect();
    // A definition is made before its parts, so the root of a user is known when its parts come.
    for id in program.defs.ids() {
        if let [user] = users[id][..]
            && user < id
        {
            roots[id] = roots[user];
        }
    }
    roots
}

/// Whether a definition is another one, or was made out of a part of it.
fn is_inside(program: &Program, inner: DefId, outer: DefId) -> bool {
    let mut at = inner;
    while at != outer {
        match program.defs[at].origin {
            Origin::Generated(parent) if parent < at => at = parent,
            Origin::Generated(_) | Origin::Prelude | Origin::User => return false,
        }
    }
    true
}

/// Joins sets of definitions that call each other, and orders them callees first.
pub(super) fn in_order(sets: &[Vec<DefId>], calls: &Calls) -> Vec<Vec<DefId>> {
    let set_of: HashMap<DefId, usize> =
        sets.iter().enumerate().flat_map(|(i, set)| set.iter().map(move |id| (*id, i))).collect();
    let successors: Vec<Vec<usize>> = sets
        .iter()
        .map(|set| {
            let called = set.iter().flat_map(|id| &calls[*id]);
            let mut called: Vec<usize> = called.filter_map(|callee| set_of.get(callee).copied()).collect();
            called.sort_unstable();
            called.dedup();
            called
        })
        .collect();
    let joined = components(&successors).into_iter();
    joined.map(|group| group.into_iter().flat_map(|i| sets[i].iter().copied()).collect()).collect()
}

/// Tarjan's algorithm with an explicit stack: the strongly connected components of a graph, successors first, the nodes of
/// each in order.
pub fn components(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; successors.len()];
    let mut low = vec![0; successors.len()];
    let mut on_stack = vec![false; successors.len()];
    let (mut stack, mut found, mut count) = (Vec::new(), Vec::new(), 0);
    for root in 0..successors.len() {
        if order[root] != UNSEEN {
            continue;
        }
        let mut visits = vec![(root, 0)];
        while let Some((node, next)) = visits.last_mut() {
            let node = *node;
            if *next == 0 {
                order[node] = count;
                low[node] = count;
                count += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&to) = successors[node].get(*next) {
                *next += 1;
                if order[to] == UNSEEN {
                    visits.push((to, 0));
                } else if on_stack[to] {
                    low[node] = low[node].min(order[to]);
                }
                continue;
            }
            visits.pop();
            if let Some((parent, _)) = visits.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == order[node] {
                let start = stack
                    .iter()
                    .rposition(|n| *n == node)
                    .expect("a node is on the stack until its component is found");
                let mut group = stack.split_off(start);
                for member in &group {
                    on_stack[*member] = false;
                }
                group.sort_unstable();
                found.push(group);
            }
        }
    }
    found
}
