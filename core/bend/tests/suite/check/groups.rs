//! The order of the groups of definitions that call each other.

use girih_bend::check::groups::components;

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
