//! What operators compute where their own arithmetic is easily wrong: sizes in other orders, no elements, many elements.

use crate::models::{FLOAT, computed, floats, int, integers, ints, model, node, refused, text, value};

#[test]
fn a_resized_axis_gives_the_same_by_choices_and_by_a_matrix() {
    // Beyond 2^20 weights elements are chosen one by one.
    for (length, mode) in [(64_u64, "linear"), (1200, "linear"), (64, "cubic"), (1200, "cubic")] {
        let x: Vec<f64> = (0..length).map(|at| f64::from((at * at % 17) as u32)).collect();
        let resize = node("Resize", &["x", "", "s"], &["y"], vec![text("mode", mode)]);
        let scales = floats("s", &[2], &[1.0, 1.5]);
        let (shape, y) =
            computed(&model(vec![value("x", FLOAT, &[-1, -1])], vec![scales], vec![resize]), &[(&[1, length], &x)]);
        assert_eq!(shape, [1, length * 3 / 2]);
        let at = |place: i64| x[place.clamp(0, length as i64 - 1) as usize];
        let weight = |distance: f64| match (mode, distance.abs()) {
            ("linear", d) => (1.0 - d).max(0.0),
            (_, d) if d <= 1.0 => (1.25 * d - 2.25) * d * d + 1.0,
            (_, d) if d < 2.0 => -0.75 * (((d - 5.0) * d + 8.0) * d - 4.0),
            (_, _) => 0.0,
        };
        for (number, y) in y.iter().enumerate() {
            let place = (number as f64 + 0.5) / 1.5 - 0.5;
            let first = place.floor() as i64 - 1;
            let wanted: f64 = (first..first + 4).map(|one| at(one) * weight(one as f64 - place)).sum();
            assert!((y - wanted).abs() < 1e-3, "{mode} of {length}: element {number} is {y}, not {wanted}");
        }
    }
}

#[test]
fn a_long_axis_is_resized_by_its_nearest_elements() {
    let x: Vec<f64> = (0..30_000).map(f64::from).collect();
    let resize = node("Resize", &["x", "", "s"], &["y"], vec![]);
    let model = model(vec![value("x", FLOAT, &[-1])], vec![floats("s", &[1], &[2.0])], vec![resize]);
    let (_, y) = computed(&model, &[(&[30_000], &x)]);
    assert!(y.iter().enumerate().all(|(at, y)| *y == (at / 2) as f64));
}

#[test]
fn no_elements_stay_none() {
    let resize = node("Resize", &["x", "", "s"], &["y"], vec![text("mode", "linear")]);
    let doubled = model(vec![value("x", FLOAT, &[-1, -1])], vec![floats("s", &[2], &[1.0, 2.0])], vec![resize.clone()]);
    assert_eq!(computed(&doubled, &[(&[2, 0], &[])]), (vec![2, 0], vec![]));
    let mut sized = resize;
    sized.input = vec!["x".into(), String::new(), String::new(), "s".into()];
    let sized = model(vec![value("x", FLOAT, &[-1, -1])], vec![integers("s", &[2], &[2, 5])], vec![sized]);
    assert_eq!(refused(&sized, &[&[2, 0]]).message, "node 0, Resize: it makes 5 elements along axis 1 of 0");
    // The product of no factors is 1.
    let det = model(vec![], vec![floats("a", &[2, 0, 0], &[])], vec![node("Det", &["a"], &["y"], vec![])]);
    assert_eq!(computed(&det, &[]), (vec![2], vec![1.0, 1.0]));
}

#[test]
fn ranges_go_both_ways_and_end_before_their_limit() {
    let range = |start: i64, limit: i64, step: i64| {
        let weights = [("a", start), ("b", limit), ("c", step)].map(|(name, number)| integers(name, &[], &[number]));
        computed(&model(vec![], weights.to_vec(), vec![node("Range", &["a", "b", "c"], &["y"], vec![])]), &[]).1
    };
    assert_eq!(range(0, 7, 3), [0.0, 3.0, 6.0]);
    assert_eq!(range(0, 6, 3), [0.0, 3.0]);
    assert_eq!(range(5, -2, -3), [5.0, 2.0, -1.0]);
    assert_eq!(range(3, 3, 1), [0.0; 0]);
    assert_eq!(range(3, 5, -1), [0.0; 0]);
}

#[test]
fn tensors_of_many_dimensions_are_repeated() {
    // Twice as many dimensions are more than a tensor has.
    let lengths = [2, 1, 1, 1, 1, 1, 2];
    let tile = node("Tile", &["x", "r"], &["y"], vec![]);
    let tiled = |repeats: &[i64; 7]| {
        let model = model(vec![value("x", FLOAT, &[-1; 7])], vec![integers("r", &[7], repeats)], vec![tile.clone()]);
        computed(&model, &[(&lengths, &[1.0, 2.0, 3.0, 4.0])])
    };
    let (shape, y) = tiled(&[1, 1, 1, 1, 1, 2, 2]);
    assert_eq!(shape, [2, 1, 1, 1, 1, 2, 4]);
    assert_eq!(y, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 3.0, 4.0, 3.0, 4.0]);
    assert_eq!(tiled(&[1, 1, 1, 0, 1, 1, 1]), (vec![2, 1, 1, 0, 1, 1, 2], vec![]));
}

#[test]
fn different_elements_are_found_among_many() {
    let x: Vec<f32> = (0..20_000).map(|at| ((at * 7) % 10_000) as f32).collect();
    let found = |output: &str, sorted: i64| {
        let outputs = ["values", "first", "inverse", "often"].map(|name| if name == output { "y" } else { name });
        let unique = node("Unique", &["x"], &outputs, vec![int("sorted", sorted)]);
        computed(&model(vec![], vec![floats("x", &[20_000], &x)], vec![unique]), &[]).1
    };
    assert!(found("values", 1).iter().enumerate().all(|(at, value)| *value == at as f64));
    assert!(found("values", 0).iter().zip(&x).all(|(value, x)| *value == f64::from(*x)));
    assert!(found("often", 0).iter().all(|often| *often == 2.0));
    assert!(found("inverse", 0).iter().enumerate().all(|(at, which)| *which == (at % 10_000) as f64));
}

#[test]
fn averages_count_the_elements_inside() {
    let pool = node(
        "AveragePool",
        &["x"],
        &["y"],
        vec![ints("kernel_shape", &[3]), ints("strides", &[2]), ints("dilations", &[2]), ints("pads", &[3, 2])],
    );
    let model = model(vec![value("x", FLOAT, &[1, 1, -1])], vec![], vec![pool]);
    let (_, y) = computed(&model, &[(&[1, 1, 5], &[1.0, 2.0, 4.0, 8.0, 16.0])]);
    // Windows at -3, -1 and 1, each with every second element.
    assert_eq!(y, [2.0, 5.0, 5.0]);
}

/// Each element of the input adds the weights to the elements that its window reaches.
fn transposed(x: &[f64], w: &[f64], groups: usize, along: &[Along; 2]) -> Vec<f64> {
    let [rows, columns] = along;
    let (inner, outer) = (4 / groups, 3);
    let mut y = vec![0.0; groups * outer * rows.result * columns.result];
    for (channel, out, i, j) in (0..4).flat_map(|c| {
        (0..outer).flat_map(move |o| (0..rows.input).flat_map(move |i| (0..columns.input).map(move |j| (c, o, i, j))))
    }) {
        for (k, l) in (0..rows.kernel).flat_map(|k| (0..columns.kernel).map(move |l| (k, l))) {
            let (Some(row), Some(column)) = (rows.place(i, k), columns.place(j, l)) else { continue };
            let to = ((channel / inner * outer + out) * rows.result + row) * columns.result + column;
            y[to] += x[(channel * rows.input + i) * columns.input + j]
                * w[((channel * outer + out) * rows.kernel + k) * columns.kernel + l];
        }
    }
    y
}
/// One dimension of a transposed convolution.
struct Along {
    input: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    low: usize,
    result: usize,
}
impl Along {
    fn place(&self, at: usize, element: usize) -> Option<usize> {
        (at * self.stride + element * self.dilation).checked_sub(self.low).filter(|place| *place < self.result)
    }
}

#[test]
fn transposed_convolutions_add_up_what_windows_reach() {
    // Kernel, stride, dilation, elements cut off before and after, elements more after; of rows, then of columns.
    let cases: &[[[usize; 6]; 2]] = &[
        [[3, 1, 1, 0, 0, 0], [3, 2, 1, 1, 1, 1]],
        [[2, 2, 1, 0, 0, 0], [5, 3, 1, 0, 2, 0]],
        [[2, 3, 1, 0, 0, 2], [3, 1, 2, 1, 0, 0]],
        [[3, 2, 2, 1, 1, 0], [1, 2, 1, 0, 0, 0]],
    ];
    for (number, case) in cases.iter().enumerate() {
        let groups = 1 + number % 2;
        let [rows, columns] = [0, 1].map(|side| {
            let [kernel, stride, dilation, low, high, more] = case[side];
            let input = 3 + side;
            let result = (input - 1) * stride + (kernel - 1) * dilation + 1 + more - low - high;
            Along { input, kernel, stride, dilation, low, result }
        });
        let pair = |name: &str, which: usize| ints(name, &[case[0][which] as i64, case[1][which] as i64]);
        let pads = [case[0][3], case[1][3], case[0][4], case[1][4]].map(|count| count as i64);
        let attrs = vec![
            pair("strides", 1),
            pair("dilations", 2),
            ints("pads", &pads),
            pair("output_padding", 5),
            int("group", groups as i64),
        ];
        let x: Vec<f64> = (0..48).map(|at| f64::from(at * 5 % 11)).collect();
        let weights = 12 * rows.kernel * columns.kernel;
        let w: Vec<f64> = (0..weights).map(|at| (at * 7 % 13) as f64).collect();
        let lengths = [4, 3, rows.kernel as u64, columns.kernel as u64];
        let inputs = vec![value("x", FLOAT, &[-1; 4]), value("w", FLOAT, &[-1; 4])];
        let model = model(inputs, vec![], vec![node("ConvTranspose", &["x", "w"], &["y"], attrs)]);
        let (shape, y) = computed(&model, &[(&[1, 4, 3, 4], &x), (&lengths, &w)]);
        assert_eq!(shape, [1, 3 * groups as u64, rows.result as u64, columns.result as u64], "{number}");
        assert_eq!(y, transposed(&x, &w, groups, &[rows, columns]), "{number}");
    }
}

#[test]
fn the_greatest_of_many_elements_are_in_order() {
    let x: Vec<f64> = (0..66_000_u32).map(|at| f64::from(at.wrapping_mul(2_654_435_761) % 1009)).collect();
    for (output, largest) in [("places", 1), ("values", 0)] {
        let outputs = ["values", "places"].map(|name| if name == output { "y" } else { name });
        let top = node("TopK", &["x", "k"], &outputs, vec![int("largest", largest)]);
        let model = model(vec![value("x", FLOAT, &[-1])], vec![integers("k", &[1], &[100])], vec![top]);
        let (_, y) = computed(&model, &[(&[66_000], &x)]);
        let mut places: Vec<usize> = (0..x.len()).collect();
        places.sort_by(|a, b| if largest == 1 { x[*b].total_cmp(&x[*a]) } else { x[*a].total_cmp(&x[*b]) });
        let wanted = places.iter().take(100).map(|at| if output == "places" { *at as f64 } else { x[*at] });
        assert_eq!(y, wanted.collect::<Vec<f64>>(), "{output}");
    }
}
