//! Whether steps keep to the write sets that their rules declare.

use hadal_model::Shape;

/// Asserts that a step changed only bits that its rule may write. `successor` is what the rule
/// made of `state`, before any reduction.
///
/// # Panics
/// Where another bit changed; the message names the bit and the variable that holds it.
pub fn assert_within_writes(shape: &Shape, state: &[u8], successor: &[u8], rule: u32) {
    if let Some(bit) = stray_bit(shape, state, successor, rule) {
        let component = (shape.components.iter())
            .find(|part| (part.first_bit..part.first_bit + part.n_bits).contains(&bit))
            .map_or("no variable", |part| part.name.as_str());
        panic!(
            "rule \"{}\" changed bit {bit} ({component}), which it does not declare",
            shape.rules[rule as usize].name
        );
    }
}

/// The first bit that a step changed and its rule does not declare.
pub fn stray_bit(shape: &Shape, state: &[u8], successor: &[u8], rule: u32) -> Option<usize> {
    let writes = &shape.rules[rule as usize].writes;
    let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    (0..8 * shape.state_len)
        .filter(|&at| bit(state, at) != bit(successor, at))
        .find(|&at| !writes.contains(at))
}

#[cfg(test)]
mod tests {
    use super::stray_bit;
    use hadal_model::{BitRanges, Rule, Shape};

    #[test]
    fn only_declared_bits_may_change() {
        let mut writes = BitRanges::new();
        writes.insert(3, 6);
        let shape = Shape {
            state_bits: 12,
            state_len: 2,
            rules: vec![Rule {
                name: "r".to_owned(),
                at: String::new(),
                writes,
                ..Rule::default()
            }],
            ..Shape::default()
        };
        let before = [0b0000_0000, 0b1010_0000];
        assert_eq!(
            stray_bit(&shape, &before, &[0b0001_1100, 0b1010_0000], 0),
            None
        );
        assert_eq!(
            stray_bit(&shape, &before, &[0b0001_0010, 0b1010_0000], 0),
            Some(6)
        );
        assert_eq!(stray_bit(&shape, &before, &[0, 0b1011_0000], 0), Some(11));
    }
}
