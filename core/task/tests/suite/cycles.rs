//! What reaches a cycle of a graph.

use girih_task::cycles::reaches_cycle;
use girih_term::DefId;

#[test]
fn what_leads_to_a_cycle_is_found_and_what_it_leads_to_is_not() {
    let edges: [&[u32]; 6] = [&[1], &[2], &[1, 3], &[], &[4], &[3]];
    let edges = edges.iter().map(|used| used.iter().map(|node| DefId::new(*node)).collect()).collect();
    let found = reaches_cycle::<DefId>(&edges);
    assert!(found.iter().eq(&[true, true, true, false, true, false]));
}
