//! Macros, conditionals and included files.

use expect_test::{Expect, expect};
use hadal_promela::{Options, parse, preprocess};
use hadal_syntax::{Outside, Source};

use crate::{outcome, parse_text, rendered};

/// The text after expansion, and messages.
fn check(text: &str, expected: Expect) {
    check_files(&[("test.pml", text)], &[], expected);
}

fn check_files(files: &[(&str, &str)], defines: &[&str], expected: Expect) {
    let root = Source::new(files[0].0, files[0].1).unwrap();
    let options = Options {
        defines: defines.iter().map(|it| it.to_string()).collect(),
        include_dirs: vec!["lib".to_owned()],
        outside: Outside::default(),
    };
    let mut read = |path: &str| {
        let file = files.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| text.as_bytes().to_vec())
    };
    let result = preprocess(root, &options, &mut read);
    let tokens = &result.text.tokens;
    let words: Vec<&str> = tokens[..tokens.len() - 1]
        .iter()
        .map(|it| &*it.text)
        .collect();
    let mut out = words.join(" ") + "\n";
    for diagnostic in &result.diagnostics {
        let place = result.text.describe(diagnostic.span().start);
        out += &format!("{place}: {}\n", diagnostic.message);
    }
    expected.assert_eq(&out);
}

#[test]
fn numbers_in_conditions_are_those_of_c() {
    check(
        "#if 010 == 8 && 0x10 == 16\nyes 010\n#endif",
        expect![[r#"
            yes 010
        "#]],
    );
}

#[test]
fn macros_are_expanded_until_they_meet_themselves() {
    check(
        "#define N 3\n#define A B + A\n#define B A + N\nA; B; N",
        expect![[r#"
            A + 3 + A ; B + A + 3 ; 3
        "#]],
    );
}

#[test]
fn arguments() {
    check(
        "#define MAX(a, b) ((a) > (b) -> (a) : (b))\n#define F() f\n#define ID(x) x\n\
         MAX(ID(1), g(2,\n 3)); F(); MAX; ID(ID)(4); ID()",
        expect![[r#"
            ( ( 1 ) > ( g ( 2 , 3 ) ) -> ( 1 ) : ( g ( 2 , 3 ) ) ) ; f ; MAX ; ID ( 4 ) ;
        "#]],
    );
    check(
        "#define TWO(a, b) a b\nTWO(1); TWO(1, 2, 3); TWO(1, 2",
        expect![[r#"
            1 ; 1 2 ; TWO
            test.pml:2:1: the macro `TWO` takes 2 arguments, not 1
            test.pml:2:9: the macro `TWO` takes 2 arguments, not 3
            test.pml:2:23: the call of the macro `TWO` is not closed
        "#]],
    );
}

#[test]
fn the_last_parameter_may_take_all_arguments() {
    check(
        "#define ALL(...) f(__VA_ARGS__)\n#define N 3\nALL(); ALL(N); ALL(1, (2, N), 4)",
        expect![[r#"
            f ( ) ; f ( 3 ) ; f ( 1 , ( 2 , 3 ) , 4 )
        "#]],
    );
    check(
        "#define LOG(s, ...) printf(s, ## __VA_ARGS__)\n#define SAY(s, v...) printf(s, v)\n\
         #define TEXT(...) #__VA_ARGS__\n#define N 3\n\
         LOG(\"a\"); LOG(\"a\",); LOG(\"a\", N, 2); SAY(\"b\", 1, N); TEXT(a, b  + N)",
        expect![[r#"
            printf ( "a" ) ; printf ( "a" ) ; printf ( "a" , 3 , 2 ) ; printf ( "b" , 1 , 3 ) ; "a, b + N"
        "#]],
    );
    check(
        "#define TWO(a, b, ...) a b __VA_ARGS__\nTWO(1); TWO(1, 2)\n\
         #define BAD(..., a) a\n#define NOT(a) __VA_ARGS__\n#define ODD(. . .) 1\n",
        expect![[r#"
            1 ; 1 2
            test.pml:2:1: the macro `TWO` takes at least 2 arguments, not 1
            test.pml:3:16: `...` is the last parameter of a macro
            test.pml:4:16: `__VA_ARGS__` stands for the arguments of `...`, which is missing
            test.pml:5:13: the parameters of a macro are names separated by commas
        "#]],
    );
}

#[test]
fn an_error_in_variable_arguments_is_shown_at_their_use_and_definition() {
    let text = "#define SET(v, ...) v = __VA_ARGS__ +\nbyte x;\ninit {\n  SET(x, 1) ) }\n";
    expect![[r#"
        error: expected an expression, found `)`
         --> test.pml:4:13
          |
        4 |   SET(x, 1) ) }
          |             ^ expected an expression

    "#]]
    .assert_eq(&rendered(&parse_text(text)));
    let text = "#define SET(v, ...) v = __VA_ARGS__ ) 1\nbyte x;\ninit {\n  SET(x, 1)\n}\n";
    expect![[r#"
        error: expected `;`, found `)`
         --> test.pml:4:3
          |
        1 | #define SET(v, ...) v = __VA_ARGS__ ) 1
          |                                     - in this macro, `SET`
        ...
        4 |   SET(x, 1)
          |   ^^^^^^^^^ expected `;`

    "#]]
    .assert_eq(&rendered(&parse_text(text)));
}

#[test]
fn predefined_names() {
    check_files(
        &[
            (
                "dir/test.pml",
                "__FILE__ __LINE__\n#define HERE __LINE__\n#define AT(x) x HERE\nHERE AT(\n1)\n\
                 #include \"a.h\"\n__LINE__\n#line 40 \"model.src\"\n__FILE__ __LINE__\n\
                 #if defined(__FILE__) && __LINE__ > 40\nyes\n#endif\n#ifdef __LINE__\nyes\n#endif\n\
                 __COUNTER__ __COUNTER__ x##__LINE__",
            ),
            ("dir/a.h", "\n__FILE__ HERE\n"),
        ],
        &[],
        expect![[r#"
            "dir/test.pml" 1 4 1 4 "dir/a.h" 2 7 "model.src" 40 yes yes 0 1 x ## 47
        "#]],
    );
    check(
        "__DATE__\n#define __LINE__ 5\n__LINE__\n",
        expect![[r#"
            "" 5
            test.pml:1:1: `__DATE__` would make each run another one
        "#]],
    );
}

#[test]
fn quoting_and_pasting() {
    check(
        "#define S(x) #x\n#define P(a, b) a ## b\n#define xy 7\nS(a + \"b\\n\"); P(x, y); P(1, +); P(, z)",
        expect![[r#"
            "a + \"b\\n\"" ; 7 ; 1 + ; z
            test.pml:2:19: pasting gives `1+`, which is not one token
        "#]],
    );
}

#[test]
fn conditionals_skip_any_text() {
    check(
        "#if 0\n don't \" /* #else\n */ #endif\n#elif defined(X) || 2 * 3 == 6\nyes\n#else\nno\n#endif\n\
         #ifdef X\nx\n#else\n#ifndef X\nnot x\n#endif\n#endif",
        expect![[r#"
            yes not x
        "#]],
    );
    check(
        "#if 1 +\n#endif\n#endif\n#else\n#if (1\n#define\n#frob\n#defin X 1",
        expect![[r#"

            test.pml:1:1: invalid condition: an operand is missing
            test.pml:3:1: `#endif` without `#if`
            test.pml:4:1: `#else` without `#if`
            test.pml:5:1: invalid condition: expected `)`
            test.pml:5:1: this conditional is not closed
        "#]],
    );
}

#[test]
fn definitions_of_the_command_line() {
    check_files(
        &[("test.pml", "N M\n#undef N\nN")],
        &["N=4", "M"],
        expect![[r#"
            4 1 N
        "#]],
    );
}

#[test]
fn included_files() {
    check_files(
        &[
            (
                "dir/test.pml",
                "#include \"a.h\"\n#include \"b.h\"\n#include \"c.h\"\n#include <d.h>\nN",
            ),
            ("dir/a.h", "a\n#define N 1\n"),
            ("b.h", "b\n#include \"a.h\"\n"),
            ("lib/c.h", "c"),
        ],
        &[],
        expect![[r#"
            a b c 1
            b.h:2:1: cannot find the file `a.h`
            dir/test.pml:4:1: cannot find the file `d.h`
        "#]],
    );
    check_files(
        &[("a.pml", "x\n#include \"a.pml\"\n")],
        &[],
        expect![[r#"
            x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x
            a.pml:2:1: files include each other more than 50 deep
        "#]],
    );
}

#[test]
fn expansion_is_bounded() {
    let mut text = String::from("#define A0 x x\n");
    for n in 1..60 {
        text += &format!("#define A{n} A{0} A{0}\n", n - 1);
    }
    text += "A59";
    let parsed = parse_text(&text);
    let messages: Vec<&str> = parsed.diagnostics.iter().map(|it| &*it.message).collect();
    assert_eq!(messages[0], "macros expand to too much text");
}

#[test]
fn line_directives_change_reported_positions() {
    let text = "byte x;\n#line 40 \"model.src\"\nbyte x y;\n";
    let parsed = parse_text(text);
    expect![[r#"
        byte x;
        byte x;
        error model.src:40:8: expected a declaration or a process, found `y`
    "#]]
    .assert_eq(&outcome(&parsed));
}

#[test]
fn an_error_in_a_macro_is_shown_at_its_use_and_definition() {
    let text = "#define INC(v) v = v +\nbyte x;\ninit {\n  INC(x);\n  x = 1\n}\n";
    expect![[r#"
        error: expected an expression, found `;`
         --> test.pml:4:9
          |
        4 |   INC(x);
          |         ^ expected an expression

    "#]]
    .assert_eq(&rendered(&parse_text(text)));
    let files = [
        ("m.pml", "#include \"h.h\"\nbyte x;\ninit {\n  BAD(x)\n}\n"),
        ("h.h", "#define WORSE(v) v = ) 1\n#define BAD(v) WORSE(v)\n"),
    ];
    let source = Source::new(files[0].0, files[0].1).unwrap();
    let parsed = parse(source, &Options::default(), &mut |path| {
        let file = files.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| text.as_bytes().to_vec())
    });
    expect![[r#"
        error: expected an expression, found `)`
         --> m.pml:4:3
          |
        4 |   BAD(x)
          |   ^^^^^^ expected an expression
          |
         ::: h.h:1:22
          |
        1 | #define WORSE(v) v = ) 1
          |                      - in this macro, `WORSE`
        2 | #define BAD(v) WORSE(v)
          |                -------- in this macro, `BAD`

    "#]]
    .assert_eq(&rendered(&parsed));
}
