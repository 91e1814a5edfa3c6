//! Any text may be parsed as a program; what parses is printed and parsed to the same program.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(program) = hadal_ir::text::parse(text) {
        let _ = hadal_ir::verify::verify(&program);
        let printed = hadal_ir::text::print(&program);
        assert_eq!(hadal_ir::text::parse(&printed).as_ref(), Ok(&program));
    }
});
