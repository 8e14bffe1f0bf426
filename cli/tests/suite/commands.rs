//! The transcripts in `tests/cli`: what the command prints and how it exits. `TRYCMD=overwrite cargo test -p girih-cli` writes
//! what it prints now into them.

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("../tests/cli/*.md").case("../tests/cli/*.toml");
}

/// The text blocks between three backquotes and a word, and three backquotes.
fn blocks<'t>(text: &'t str, kind: &'t str) -> impl Iterator<Item = &'t str> {
    let parts = text.split("```").skip(1).step_by(2);
    parts.filter_map(move |part| part.strip_prefix(kind)?.strip_prefix('\n'))
}

#[test]
fn the_readme_shows_what_the_tour_shows() {
    let readme = include_str!("../../../README.md");
    let tour = include_str!("../../../tests/cli/tour.md");
    let mut programs = 0;
    for program in blocks(readme, "python") {
        let name = program.lines().next().and_then(|line| line.strip_prefix("# ")).expect("it begins with its name");
        let path = format!("{}/../tests/cli/tour.in/{name}", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(std::fs::read_to_string(path).expect("the tour has the program"), program, "{name}");
        programs += 1;
    }
    assert_eq!(programs, 2);
    let shown: Vec<&str> = blocks(readme, "console").map(str::trim_end).collect();
    for transcript in blocks(tour, "console").filter(|transcript| !transcript.contains("girih render")) {
        let transcript = transcript.replace("? 1\n", "");
        assert!(shown.contains(&transcript.trim_end()), "the README does not show\n{transcript}");
    }
}
