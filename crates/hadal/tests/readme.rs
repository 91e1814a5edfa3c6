//! The commands of the README print what the README says they print.

mod common;

#[test]
fn readme_commands_do_what_it_says() {
    // Its paths are those of someone who stands in the root of the repository.
    std::env::set_current_dir(common::root()).expect("the root is there");
    let readme = common::root().join("README.md");
    trycmd::TestCases::new()
        .register_bin("hadal", std::path::Path::new(env!("CARGO_BIN_EXE_hadal")))
        .case(readme);
}
