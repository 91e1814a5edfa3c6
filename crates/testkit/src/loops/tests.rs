//! Models have the properties that their generator guarantees.

use super::model_from_seed;

#[test]
fn a_model_is_a_function_of_its_seed() {
    assert_eq!(model_from_seed(7), model_from_seed(7));
    assert_ne!(model_from_seed(7), model_from_seed(8));
}

/// What the models are for is in them, in innocent ones and in others.
#[test]
fn every_construct_comes_up() {
    let common = [
        "for p",
        "Colour do",
        "Node do",
        "while ",
        "alias ",
        "exists ",
        "forall ",
        "function ",
        "procedure ",
        "var x: boolean",
        "return true",
        "multisetadd",
        "multisetremove(",
        "multisetremovepred",
        "multisetcount",
        "choose ",
        "isundefined",
        "undefine ",
        "assert ",
        "assume ",
        "cover ",
        "liveness ",
        "invariant ",
        "put ",
        "chosen := p",
        "ruleset ",
        ".now := ",
        ": array [Proc]",
        "procedure assign",
        "function wipe",
        "k - 1)",
        " ? ",
    ];
    let wild = [
        "return p",
        "return undefined",
        "return;",
        "error ",
        "list[len] := ",
        "owner := p",
        ".kept := ",
        "(var out: Proc): boolean",
        "procedure win",
        "procedure deep",
        "function claim",
        ".first := ",
        "ismember",
    ];
    let innocent_only = [
        "= Memory then",
        "procedure tell",
        "function again",
        ".any | ",
    ];
    for (innocent, words) in [
        (true, &common[..]),
        (false, &common[..]),
        (false, &wild[..]),
        (true, &innocent_only[..]),
    ] {
        let models = (0..2000).map(model_from_seed);
        let texts: Vec<String> = models
            .filter(|model| model.innocent == innocent)
            .map(|model| model.text)
            .collect();
        assert!(
            texts.len() > 600,
            "{} of innocent = {innocent}",
            texts.len()
        );
        for word in words {
            let n = texts.iter().filter(|text| text.contains(word)).count();
            assert!(n > 0, "no {word} where innocent = {innocent}");
        }
    }
}
