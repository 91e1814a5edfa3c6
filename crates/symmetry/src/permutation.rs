//! Renamings: one permutation for each scalarset of a program.

use std::fmt::Write as _;

use hadal_ir::{ScalarsetId, Types};

/// A renaming of the elements of every scalarset at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permutation {
    /// By scalarset, the image of each element.
    images: Vec<Vec<u32>>,
}

impl Permutation {
    /// The renaming that turns element `e` of scalarset `s` into element `images[s][e]`.
    ///
    /// A list may be shorter than its scalarset: elements beyond it stay what they are.
    /// `None` unless each list is a permutation of `0..len`.
    pub fn new(images: Vec<Vec<u32>>) -> Option<Self> {
        for list in &images {
            let mut seen = vec![false; list.len()];
            for &image in list {
                let slot = seen.get_mut(image as usize)?;
                if std::mem::replace(slot, true) {
                    return None;
                }
            }
        }
        Some(Permutation { images })
    }

    /// The renaming of `n_scalarsets` scalarsets that changes nothing.
    pub fn identity(n_scalarsets: usize) -> Self {
        Permutation {
            images: vec![Vec::new(); n_scalarsets],
        }
    }

    /// The image of an element.
    pub fn image(&self, scalarset: ScalarsetId, element: u32) -> u32 {
        let list = self.images.get(scalarset.index());
        let image = list.and_then(|list| list.get(element as usize));
        image.copied().unwrap_or(element)
    }

    /// The renaming that undoes this one.
    pub fn inverse(&self) -> Self {
        let invert = |list: &Vec<u32>| {
            let mut inverse = vec![0; list.len()];
            for (element, &image) in list.iter().enumerate() {
                inverse[image as usize] = element as u32;
            }
            inverse
        };
        Permutation {
            images: self.images.iter().map(invert).collect(),
        }
    }

    /// Whether nothing is renamed.
    pub fn is_identity(&self) -> bool {
        let fixed = |list: &Vec<u32>| list.iter().enumerate().all(|(e, &image)| image == e as u32);
        self.images.iter().all(fixed)
    }

    /// The image of each element, by scalarset.
    pub fn images(&self) -> &[Vec<u32>] {
        &self.images
    }

    /// The renaming as text: `exchanging Proc_1 and Proc_2`.
    pub fn describe(&self, types: &Types) -> String {
        let mut parts = Vec::new();
        for (scalarset, list) in types.scalarsets.iter().zip(&self.images) {
            let name = |element: u32| format!("{}_{}", scalarset.name, element + 1);
            let mut seen = vec![false; list.len()];
            for first in 0..list.len() as u32 {
                let mut cycle = Vec::new();
                let mut next = first;
                while !std::mem::replace(&mut seen[next as usize], true) {
                    cycle.push(next);
                    next = list[next as usize];
                }
                match cycle[..] {
                    // Already part of a cycle, or fixed.
                    [] | [_] => {}
                    [a, b] => parts.push(format!("exchanging {} and {}", name(a), name(b))),
                    _ => {
                        let mut text = format!("renaming {}", name(first));
                        for &element in &cycle[1..] {
                            // Writing to a string cannot fail.
                            let _ = write!(text, " to {}", name(element));
                        }
                        let _ = write!(text, " and back to {}", name(first));
                        parts.push(text);
                    }
                }
            }
        }
        match parts.is_empty() {
            true => "changing nothing".to_owned(),
            false => parts.join(", "),
        }
    }
}
