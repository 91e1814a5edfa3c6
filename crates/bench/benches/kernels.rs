//! Instruction counts of the kernels, under valgrind.
//!
//! Times depend on who else uses the machine; these counts do not, so a change of one per cent can
//! be seen. `docs/internals/testing.md` has the command.

#![allow(missing_docs, reason = "the macros below make public functions")]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use hadal_bench::kernels::{Canonical, Expansion, Insertion, append_parents};
use hadal_store::disk::ParentLog;

// Many guards, few of them true; pointers; wide states.
#[library_benchmark]
#[bench::guards(Expansion::native("peterson.m", &[]))]
#[bench::pointers(Expansion::native("sharing_list.m", &[]))]
#[bench::wide(Expansion::native("msi.m", &[("NODES", "5")]))]
fn native(mut expansion: Expansion) -> (usize, Expansion) {
    (black_box(expansion.run()), expansion)
}

#[library_benchmark]
#[bench::wide(Expansion::interpreted("msi.m", &[("NODES", "5")]))]
fn interpreter(mut expansion: Expansion) -> (usize, Expansion) {
    (black_box(expansion.run()), expansion)
}

#[library_benchmark]
#[bench::wide(Canonical::new("msi.m", &[("NODES", "5")]))]
#[bench::pointers(Canonical::new("sharing_list.m", &[]))]
fn canonical_form(mut canonical: Canonical) -> (u8, Canonical) {
    (black_box(canonical.run()), canonical)
}

#[library_benchmark]
#[bench::short(Insertion::new("szymanski.m", &[("N", "7")]))]
fn insertion(mut insertion: Insertion) -> (usize, Insertion) {
    (black_box(insertion.run()), insertion)
}

#[library_benchmark]
#[bench::near(ParentLog::new())]
fn parents(mut log: ParentLog) -> (u64, ParentLog) {
    (black_box(append_parents(&mut log)), log)
}

library_benchmark_group!(
    name = kernels,
    benchmarks = [native, interpreter, canonical_form, insertion, parents]
);
main!(library_benchmark_groups = kernels);
