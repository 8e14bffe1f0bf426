//! A text as numbers of characters, and pieces of it.

/// A text.
pub struct Text {
    /// Its different characters in order: the number of one is its place.
    characters: Vec<char>,
    numbers: Vec<i32>,
    length: usize,
}

impl Text {
    /// A text of which pieces of a length are learnt.
    ///
    /// # Errors
    /// If it is too short.
    pub fn new(text: &str, length: u64) -> Result<Text, String> {
        let mut characters: Vec<char> = text.chars().chain(['\n']).collect();
        characters.sort_unstable();
        characters.dedup();
        let number = |c| characters.binary_search(&c).ok().and_then(|place| i32::try_from(place).ok());
        let numbers: Vec<i32> = text.chars().filter_map(number).collect();
        if length == 0 || numbers.len() as u64 <= length + 1 {
            return Err(format!("the text has {} characters, which are no pieces of {length}", numbers.len()));
        }
        Ok(Text { characters, numbers, length: length as usize })
    }
    /// How many different characters there are.
    pub fn characters(&self) -> u64 {
        self.characters.len() as u64
    }
    /// The number of a new line, after which text begins.
    pub fn start(&self) -> i32 {
        self.characters.binary_search(&'\n').map_or(0, |place| place as i32)
    }
    /// Pieces for a step, one after the other, and the character that follows each of theirs.
    pub fn pieces(&self, count: u64, step: u64) -> (Vec<i32>, Vec<i32>) {
        let places = (self.numbers.len() - self.length) as u64;
        // Weyl's sequence: places are spread evenly, and the same in every run.
        let start = |i: u64| ((step * count + i).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % places;
        let piece = |i: u64, later: usize| {
            let from = start(i) as usize + later;
            self.numbers[from..from + self.length].to_vec()
        };
        let all = |later: usize| (0..count).flat_map(|i| piece(i, later)).collect();
        (all(0), all(1))
    }
    /// Numbers as text.
    pub fn shown(&self, numbers: &[i32]) -> String {
        numbers.iter().filter_map(|number| self.characters.get(usize::try_from(*number).ok()?)).collect()
    }
}
