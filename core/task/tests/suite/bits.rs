//! Sets of small numbers as bits: what is in them, and whether unions add.

use girih_task::bits::Bits;

fn set(bits: &[u32]) -> Bits {
    let mut set = Bits::default();
    bits.iter().for_each(|&bit| assert!(set.insert(bit)));
    set
}

#[test]
fn what_is_inserted_is_there_in_order() {
    let mut all = set(&[200, 3, 63, 64]);
    assert!(!all.insert(63));
    assert_eq!(all.iter().collect::<Vec<u32>>(), [3, 63, 64, 200]);
    assert!(all.contains(64) && !all.contains(65) && !all.contains(10_000));
}

#[test]
fn unions_say_whether_they_add() {
    let mut pending = Bits::default();
    assert!(!pending.union_without(&set(&[1, 100]), &set(&[1, 100, 5])));
    assert!(pending.is_empty());
    assert!(pending.union_without(&set(&[1, 100]), &set(&[1])));
    assert!(!pending.union_without(&set(&[1, 100]), &set(&[1])));
    assert_eq!(pending.iter().collect::<Vec<u32>>(), [100]);
    let mut all = set(&[2]);
    all.union(&set(&[300]));
    assert_eq!(all.iter().collect::<Vec<u32>>(), [2, 300]);
}
