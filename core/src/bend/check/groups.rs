//! The order in which definitions are inferred: strongly connected groups of the call graph, callees first.

use super::place::walk;
use crate::term::{Body, DefId, Program, TermKind};

/// Groups of definitions that call each other, each after all groups that it calls. Only definitions that are `open`,
/// whose type must be found by inference, are considered, and only calls of such.
pub(super) fn groups(program: &Program, open: &dyn Fn(DefId) -> bool) -> Vec<Vec<DefId>> {
    let calls: Vec<Vec<usize>> = program
        .defs
        .iter_enumerated()
        .map(|(id, def)| match &def.body {
            Body::Term(term) if open(id) => {
                let mut called = Vec::new();
                walk(term, &mut |part| {
                    if let TermKind::Global(callee) = part.kind
                        && open(callee)
                    {
                        called.push(callee.index());
                    }
                    true
                });
                called.sort_unstable();
                called.dedup();
                called
            }
            Body::Term(_) | Body::Net(_) => Vec::new(),
        })
        .collect();
    let ids: Vec<DefId> = program.defs.ids().collect();
    components(&calls)
        .into_iter()
        .map(|group| group.into_iter().map(|i| ids[i]).collect::<Vec<_>>())
        .filter(|group| group.iter().all(|id| open(*id)))
        .collect()
}

/// Tarjan's algorithm with an explicit stack: the strongly connected components of a graph, successors first, the nodes of
/// each in order.
fn components(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
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

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn callees_come_first_and_cycles_stay_together() {
        let graph = [vec![1], vec![2], vec![1, 3], vec![], vec![0, 4]];
        assert_eq!(components(&graph), [vec![3], vec![1, 2], vec![0], vec![4]]);
    }

    #[test]
    fn a_long_chain_does_not_recurse() {
        let n = 200_000;
        let chain: Vec<Vec<usize>> = (0..n).map(|i| if i + 1 < n { vec![i + 1] } else { vec![] }).collect();
        assert_eq!(components(&chain).len(), n);
        let ring: Vec<Vec<usize>> = (0..n).map(|i| vec![(i + 1) % n]).collect();
        assert_eq!(components(&ring).len(), 1);
    }
}
