//! Cycles of a graph of references, and what reaches one: code that may go on for long.

use std::collections::HashSet;

/// The nodes that lie on a cycle, and those from which such a one is reached. Each node has the numbers of the nodes that it refers to.
pub fn reaching_cycles(edges: &[Vec<usize>]) -> HashSet<usize> {
    let mut users: Vec<Vec<usize>> = vec![vec![]; edges.len()];
    for (user, used) in edges.iter().enumerate() {
        used.iter().for_each(|node| users[*node].push(user));
    }
    let mut found = on_cycles(edges);
    let mut todo: Vec<usize> = found.iter().copied().collect();
    while let Some(node) = todo.pop() {
        todo.extend(users[node].iter().copied().filter(|user| found.insert(*user)));
    }
    found
}

/// The nodes that lie on a cycle.
fn on_cycles(edges: &[Vec<usize>]) -> HashSet<usize> {
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
                Some(&target) => {
                    work.push((node, edge + 1));
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
    edges: &[Vec<usize>],
    stack: &mut Vec<usize>,
    on_stack: &mut [bool],
    found: &mut HashSet<usize>,
) {
    let at = stack.iter().rposition(|n| *n == node).unwrap_or(0);
    let members = stack.split_off(at);
    for member in &members {
        on_stack[*member] = false;
        let itself = edges[*member].contains(member);
        if members.len() > 1 || itself {
            found.insert(*member);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_a_cycle_is_found_and_what_it_leads_to_is_not() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3, 4 -> 4, 5 -> 3.
        let edges = [vec![1], vec![2], vec![1, 3], vec![], vec![4], vec![3]];
        assert_eq!(reaching_cycles(&edges), HashSet::from([0, 1, 2, 4]));
    }
}
