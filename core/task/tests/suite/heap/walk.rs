//! Trees in a heap that is written by hand become pixels, or are left to the host.

use girih_base::words;
use girih_ir::heap::{CELL, U24, pack};
use girih_machine::interp::{Interpreter, Options};
use girih_runtime::{Device, DeviceHeap, Memory};
use girih_task::heap::{Field, Sheet, Walker};

const FORK: u32 = 0;
const LEAF: u32 = 1;
const OTHER: u32 = 2;

/// A heap that is written by hand.
struct Heap {
    words: Vec<u32>,
}

impl Heap {
    fn cell(&mut self, layout: u32, fields: &[u32]) -> u32 {
        let unit = self.words.len() as u32 / 2;
        self.words.push(layout | (fields.len() as u32 / 2 + 1) << 16);
        self.words.extend(fields);
        self.words.resize(self.words.len().next_multiple_of(2), 0);
        // The host names cells by one tag, the device by another one where several own them.
        pack(CELL + unit % 2, unit)
    }

    /// A perfect tree whose leaves are in turn small numbers and cells with a number.
    fn tree(&mut self, depth: u32, path: u32) -> u32 {
        if depth == 0 {
            let colour = path * 0x010203;
            return if path.is_multiple_of(2) { pack(U24, colour) } else { self.cell(LEAF, &[colour]) };
        }
        let fields = [self.tree(depth - 1, 2 * path), self.tree(depth - 1, 2 * path + 1)];
        self.cell(FORK, &fields)
    }
}

/// What the walk of a tree gives; none if it is not of that form.
fn walk(heap: &Heap, root: &[(Field, u32)], depth: u32, count: usize) -> Option<Vec<[u8; 4]>> {
    let device = &Device::new(Interpreter::new(Options { checked: true, ..Options::default() }));
    let layouts = [vec![Field::Word; 2], vec![Field::Integer], vec![Field::Other]];
    let walker = Walker::open(device, &layouts).expect("the kernel is right");
    let sheet = Sheet::new(device, 300).expect("there is memory");
    let bytes = words::to_bytes(&heap.words);
    let buffer = device.zeroed(Memory::of(bytes.len() as u64)).expect("there is memory");
    device.write(&buffer, 0, &bytes).expect("it fits");
    let heap = DeviceHeap { device: device.clone(), buffer };
    let mut pixels = vec![[0; 4]; count];
    let is_whole = walker.walk(&heap, root, depth, count as u32, &sheet).expect("the device works");
    if is_whole {
        sheet.read(device, &mut pixels).expect("they are there");
    }
    is_whole.then_some(pixels)
}

fn colours(count: u32) -> Vec<[u8; 4]> {
    let bytes = |path: u32| (path * 0x010203).to_be_bytes();
    (0..count).map(bytes).map(|[_, red, green, blue]| [red, green, blue, 255]).collect()
}

#[test]
fn leaves_become_pixels_in_their_order() {
    let mut heap = Heap { words: vec![0; 2] };
    let tree = heap.tree(8, 0);
    for count in [256, 255, 1] {
        assert_eq!(walk(&heap, &[(Field::Word, tree)], 8, count), Some(colours(count as u32)));
    }
    // The root's fork may have no cell.
    let (left, right) = (heap.tree(2, 0), heap.tree(2, 1));
    assert_eq!(walk(&heap, &[(Field::Word, left), (Field::Word, right)], 3, 8), Some(colours(8)));
    assert_eq!(walk(&heap, &[(Field::Integer, 0x010203)], 0, 1), Some(vec![[1, 2, 3, 255]]));
}

#[test]
fn trees_of_another_form_are_left_to_the_host() {
    let mut heap = Heap { words: vec![0; 2] };
    let tree = heap.tree(3, 0);
    assert_eq!(walk(&heap, &[(Field::Word, tree)], 4, 8), None);
    assert_eq!(walk(&heap, &[(Field::Word, tree)], 2, 4), None);
    let float = heap.cell(OTHER, &[0]);
    let skewed = heap.cell(FORK, &[tree, float]);
    assert_eq!(walk(&heap, &[(Field::Word, skewed)], 4, 8), Some(colours(8)));
    assert_eq!(walk(&heap, &[(Field::Word, skewed)], 4, 9), None);
    // Words that are no data, and more pixels than there is room for.
    assert_eq!(walk(&heap, &[(Field::Word, 3)], 0, 1), None);
    assert_eq!(walk(&heap, &[(Field::Word, tree)], 3, 301), None);
    let (left, right) = (heap.tree(0, 0), heap.tree(0, 1));
    assert_eq!(walk(&heap, &[(Field::Word, left), (Field::Word, right)], 0, 1), None);
}
