//! Which definitions may call themselves, directly or through others.

use crate::term::{Body, DefId, Program};
use std::collections::HashSet;

/// The definitions that lie on a cycle of references.
pub fn recursive(program: &Program) -> HashSet<DefId> {
    let mut found = HashSet::new();
    let edges: Vec<Vec<DefId>> = (program.defs.iter())
        .map(|def| match &def.body {
            Body::Term(body) => body.globals(),
            Body::Net(_) => vec![],
        })
        .collect();
    // Tarjan's strongly connected components, by an explicit stack.
    let count = edges.len();
    let (mut order, mut low) = (vec![0usize; count], vec![0usize; count]);
    let (mut on_stack, mut stack, mut next) = (vec![false; count], vec![], 1);
    for root in 0..count {
        if order[root] != 0 {
            continue;
        }
        let mut work = vec![(root, 0)];
        while let Some((node, edge)) = work.pop() {
            if edge == 0 {
                (order[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            match edges[node].get(edge) {
                Some(target) => {
                    work.push((node, edge + 1));
                    let target = target.index();
                    if order[target] == 0 {
                        work.push((target, 0));
                    } else if on_stack[target] {
                        low[node] = low[node].min(order[target]);
                    }
                }
                None => {
                    if let Some((parent, _)) = work.last() {
                        low[*parent] = low[*parent].min(low[node]);
                    }
                    if low[node] == order[node] {
                        component(node, &edges, &mut stack, &mut on_stack, &mut found);
                    }
                }
            }
        }
    }
    found
}

/// Takes the component of a node off the stack.
fn component(
    node: usize,
    edges: &[Vec<DefId>],
    stack: &mut Vec<usize>,
    on_stack: &mut [bool],
    found: &mut HashSet<DefId>,
) {
    let at = stack.iter().rposition(|n| *n == node).unwrap_or(0);
    let members = stack.split_off(at);
    for member in &members {
        on_stack[*member] = false;
        let itself = edges[*member].iter().any(|target| target.index() == *member);
        if members.len() > 1 || itself {
            found.insert(DefId::new(*member as u32));
        }
    }
}
