//! Numbers of constants, flattened structures, and initial values.

use expect_test::{Expect, expect};

use crate::compile_text;

fn check(text: &str, expected: Expect) {
    let program = compile_text(text).program.expect("a program");
    let mut out = String::new();
    for set in &program.mtypes {
        out += &format!("mtype {:?}: {:?}\n", set.name, set.names);
    }
    for channel in &program.channels {
        out += &format!("channel {} of {:?}\n", channel.capacity, channel.fields);
    }
    for variable in &program.globals {
        out += &format!("{} {:?} {:?}\n", variable.name, variable.ty, variable.dims);
    }
    out += &format!("initial {:?}\n", program.initial);
    expected.assert_eq(&out);
}

#[test]
fn constants_count_from_the_end() {
    check(
        "mtype = { a, b }; mtype = { c, d }; mtype:fruit = { apple, pear }; init { skip }",
        expect![[r#"
            mtype None: [("a", 2), ("b", 1), ("c", 4), ("d", 3)]
            mtype Some("fruit"): [("apple", 2), ("pear", 1)]
            initial [0]
        "#]],
    );
}

#[test]
fn structures_are_flattened() {
    check(
        "typedef I { byte a; bit b[3] } typedef O { I i[2]; short s } O o[4]; I single;
         chan q[2] = [3] of { I, mtype }; active [2] proctype P() { skip } init { skip }",
        expect![[r#"
            mtype None: []
            channel 3 of [Byte, Bit, Bit, Bit, Mtype(0)]
            o.i.a Byte [4, 2]
            o.i.b Bit [4, 2, 3]
            o.s Short [4]
            single.a Byte []
            single.b Bit [3]
            q Chan [2]
            initial [0, 0, 1]
        "#]],
    );
}
