//! "Did you mean": the known name that is nearest to an unknown one.

/// The candidate with the least edit distance to `name`, if it is near enough to be a slip. A candidate that ends in
/// `/name` (a constructor written without its type) is always near.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match name.chars().count() {
        0 | 1 => 0, // Any other letter would be near.
        length => (length / 3).max(1),
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let tail = candidate.rsplit('/').next().unwrap_or(candidate);
        let distance = if tail == name { 0 } else { distance(name, candidate, limit) };
        let better = match best {
            None => distance <= limit,
            Some((d, c)) => distance < d || (distance == d && candidate < c),
        };
        if better && candidate != name {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Damerau-Levenshtein distance (optimal string alignment), or more than `limit` once it is known to exceed it.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = usize::from(!a[i - 1].eq_ignore_ascii_case(&b[j - 1]));
            let mut cost = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(before[j - 2] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["List/Cons", "List/Nil", "reverse", "length"];
        assert_eq!(did_you_mean("List/Cosn", names), Some("List/Cons"));
        assert_eq!(did_you_mean("revrse", names), Some("reverse"));
        assert_eq!(did_you_mean("Nil", names), Some("List/Nil"));
        assert_eq!(did_you_mean("something", names), None);
        assert_eq!(did_you_mean("y", ["x"]), None);
    }
}
