//! A program of two files: its diagnostics, its sites and its text form name both.

use hadal_ir::interp::{Interpreter, Limits};
use hadal_ir::text::{parse, print};
use hadal_ir::verify::verify;
use hadal_ir::{FileId, Program, Site, SiteId};
use hadal_model::{Cursor, Flow, Model, PAD_BYTES, States, Stop, Successors};
use hadal_syntax::{Diagnostic, Renderer, Source, Sources, Span};

const ROOT: &str = "#include \"lib.h\"
x = 0;
count(x)
";

/// The body of an inline that the root uses.
const LIBRARY: &str = "/* counts to 2 */
inline count(n) { n = n + 1 }
";

fn sources() -> Sources {
    let mut sources = Sources::new(Source::new("main.pml", ROOT).unwrap());
    sources.add(Source::new("lib.h", LIBRARY).unwrap()).unwrap();
    sources
}

/// The span of the first occurrence of a text in all files.
fn find(sources: &Sources, text: &str) -> Span {
    let found = sources.iter().find_map(|file| {
        let start = file.base() + file.text().find(text)? as u32;
        Some(Span::new(start, start + text.len() as u32))
    });
    let span = found.expect("one of the files has the text");
    assert_eq!(sources.slice(span), text);
    span
}

/// Adds the site of the beginning of a text.
fn add_site(program: &mut Program, sources: &Sources, text: &str, used_at: Option<SiteId>) {
    let (file, position) = sources.position(find(sources, text).start);
    program.add_site(Site {
        file: FileId::new(file.index()),
        line: position.line,
        column: position.column,
        used_at,
    });
}

/// What a front-end would make of the two files. The items refer to sites 1 to 3.
fn program(sources: &Sources) -> Program {
    let mut program = Program::new(sources.root().name());
    for file in sources.iter().skip(1) {
        program.add_file(file.name());
    }
    add_site(&mut program, sources, "x = 0", None);
    add_site(&mut program, sources, "count(x)", None);
    add_site(&mut program, sources, "n = n + 1", Some(SiteId(2)));
    let items = r#"
      (type t0 (range 0 2))
      (var v0 "x" t0)
      (expr e0 @1 (int 0))
      (expr e1 @3 (read v0))
      (expr e2 @3 (defined e1))
      (expr e3 @3 (int 1))
      (expr e4 @3 (add e2 e3))
      (start "start" @1 (params) (locals) (body (assign @1 v0 e0)))
      (rule "count" @2 (priority 0) (params) (locals) (prologue) (condition)
        (body (assign @3 v0 e4))))"#;
    let header = print(&program);
    let header = header.trim_end().strip_suffix(')').expect("it is a list");
    parse(&format!("{header}{items}")).expect("the text is right")
}

#[test]
fn diagnostics_point_into_both_files() {
    let sources = sources();
    let (call, body) = (find(&sources, "count(x)"), find(&sources, "n = n + 1"));
    let in_library = Diagnostic::error("`n` may leave its range", body).context(call, "used here");
    let text = Renderer::plain().render_all(&sources, [&in_library]);
    let (first, second) = (text.find("lib.h:2:19"), text.find("main.pml:3:1"));
    assert!(first.is_some() && first < second, "{text}");
    let in_root = Diagnostic::warning("`x` is never read", call);
    let text = Renderer::plain().render(&sources, &in_root);
    assert!(
        text.contains("main.pml:3:1") && !text.contains("lib.h"),
        "{text}"
    );
}

#[test]
fn rules_and_faults_name_their_files() {
    let sources = sources();
    let program = program(&sources);
    verify(&program).expect("it is sound");
    assert_eq!(program.position(SiteId(3)), "lib.h:2:19");
    let use_site = program.sites[3].used_at.expect("an inline made it");
    assert_eq!(program.position(use_site), "main.pml:3:1");

    let model = Interpreter::new(program, Limits::default());
    assert_eq!(model.shape().rules[0].at, "main.pml:3:1");
    let stop = Stop::new();
    let mut expander = model.expander(&stop);
    let mut out = Successors::new(model.shape(), 4);
    out.reset(1);
    assert_eq!(expander.starts(Cursor::default(), &mut out), Flow::Done);
    let mut state = out.state(0).to_vec();
    for _ in 0..3 {
        assert!(out.sources()[0].faults.is_empty());
        if !out.is_empty() {
            state = out.state(0).to_vec();
        }
        let len = state.len();
        state.resize(len + PAD_BYTES, 0);
        out.reset(1);
        expander.expand(States::new(&state, len, 1), Cursor::default(), &mut out);
    }
    // The third step leaves the range, in the text of the library.
    assert_eq!(out.sources()[0].faults[0].at, "lib.h:2:19");
}

#[test]
fn the_text_form_keeps_files_and_uses() {
    let program = program(&sources());
    let text = print(&program);
    for line in [
        "(file #0 \"main.pml\")",
        "(file #1 \"lib.h\")",
        "(site @2 #0 3 1)",
        "(site @3 #1 2 19 @2)",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
    assert_eq!(parse(&text), Ok(program));
}
