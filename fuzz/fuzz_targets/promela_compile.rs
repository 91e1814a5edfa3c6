//! Any bytes may be compiled; a program that comes out passes the verifier.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hadal_promela::fuzz_compile(bytes));
