//! Any bytes may be parsed: the parser returns, and its diagnostics can be rendered.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hadal_murphi::fuzz_parse(bytes));
