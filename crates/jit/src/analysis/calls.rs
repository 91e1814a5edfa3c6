//! Facts about functions that depend on their callees.

use hadal_ir::program::Program;
use hadal_ir::stmt::StmtKind;
use hadal_ir::walk::{Mention, Reach, for_each_mention, for_each_stmt};

/// By function, whether it calls itself, and whether a call may reach a `cover` statement.
/// Functions call only themselves and earlier ones, so one pass is enough.
pub(crate) fn functions(program: &Program) -> (Vec<bool>, Vec<bool>) {
    let (mut recursive, mut covers) = (Vec::new(), Vec::new());
    for (number, function) in program.functions.iter().enumerate() {
        let mut calls_itself = false;
        let mut any_cover = has_cover(&function.body);
        callees(program, &function.body, &mut |callee| {
            calls_itself |= callee == number;
            any_cover |= covers.get(callee).copied().unwrap_or(false);
        });
        recursive.push(calls_itself);
        covers.push(any_cover);
    }
    (recursive, covers)
}

/// Whether a body may reach a `cover` statement.
pub(crate) fn reaches_cover(
    program: &Program,
    covers: &[bool],
    body: &[hadal_ir::stmt::Stmt],
) -> bool {
    let mut any = has_cover(body);
    callees(program, body, &mut |callee| any |= covers[callee]);
    any
}

fn has_cover(body: &[hadal_ir::stmt::Stmt]) -> bool {
    let mut any = false;
    for_each_stmt(body, &mut |stmt| {
        any |= matches!(stmt.kind, StmtKind::Cover { .. });
    });
    any
}

fn callees(program: &Program, body: &[hadal_ir::stmt::Stmt], visit: &mut dyn FnMut(usize)) {
    let mut reach = Reach::new(program);
    for_each_mention(body, &mut |mention| {
        reach.visit(mention, &mut |inner| {
            if let Mention::Function(callee) = inner {
                visit(callee.index());
            }
        });
    });
}
