//! Which definitions may call themselves, directly or through others, and which calls may take long for that.

use girih_term::{Body, DefId, Program};
use std::collections::HashSet;

/// The definitions that lie on a cycle of references, and those from which such a one is reached.
pub fn lasting(program: &Program) -> HashSet<DefId> {
    let edges: Vec<Vec<DefId>> = (program.defs.iter())
        .map(|def| match &def.body {
            Body::Term(body) => body.globals(),
            Body::Net(_) => vec![],
        })
        .collect();
    let mut users: Vec<Vec<usize>> = vec![vec![]; edges.len()];
    for (user, used) in edges.iter().enumerate() {
        used.iter().for_each(|def| users[def.index()].push(user));
    }
    let mut found = recursive(&edges);
    let mut todo: Vec<usize> = found.iter().map(|def| def.index()).collect();
    while let Some(def) = todo.pop() {
        todo.extend(users[def].iter().filter(|user| found.insert(DefId::new(**user as u32))));
    }
    found
}

/// The definitions that lie on a cycle of references.
fn recursive(edges: &[Vec<DefId>]) -> HashSet<DefId> {
    let mut found = HashSet::new();
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
                        component(node, edges, &mut stack, &mut on_stack, &mut found);
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
