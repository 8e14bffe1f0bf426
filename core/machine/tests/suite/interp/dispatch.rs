//! The orders in which workgroups run.

use girih_machine::interp::dispatch::Order;

#[test]
fn orders_reach_every_workgroup_once() {
    for total in [1, 2, 7, 64, 90, 1000] {
        for seed in [None, Some(0), Some(1), Some(99), Some(u64::MAX - 1)] {
            let order = Order::new(total, seed);
            let mut seen: Vec<u64> = (0..total).map(|i| order.at(i)).collect();
            assert!(seed.is_some() || seen.iter().copied().eq(0..total));
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..total));
        }
    }
    assert_ne!(Order::new(90, Some(1)).at(3), 3);
}
