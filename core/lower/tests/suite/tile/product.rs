//! Rectangles of sums cover a product.

use girih_ir::Shape;
use girih_lower::tile::product::rectangles;

#[test]
fn rectangles_cover_all_sums() {
    for (lengths, threads) in
        [(&[32, 32][..], 7), (&[128, 64], 8), (&[2, 2], 5), (&[16, 256], 7), (&[4, 16, 16], 5), (&[1, 8], 5)]
    {
        let layout = rectangles(Shape::of(lengths), threads);
        let mut bits: Vec<u8> =
            layout.registers.iter().chain(&layout.threads).copied().filter(|b| *b != u8::MAX).collect();
        bits.sort_unstable();
        let all = lengths.iter().product::<u64>().trailing_zeros() as u8;
        assert_eq!(bits, (0..all).collect::<Vec<u8>>(), "{lengths:?}");
        assert_eq!(layout.threads.len(), usize::from(threads));
    }
}
