//! Bit fields in memory.
//!
//! Fields at constant places are read and written in 64-bit words on a fixed grid from the
//! beginning of the state or frame, so that the compiler sees equal addresses, shares loads and
//! forwards stores. Where an index decides, the word is found at run time. In a body, that is the
//! smallest one that holds the field wherever it is: the state has just been copied there in words,
//! and a processor forwards a store to a load only if the load lies within what was stored. For
//! the same reason a word of the grid is not read as a whole once parts of it may have been written
//! in that way.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};

use super::Lower;
use crate::call::Helper;
use crate::unit::Simple;

/// A place in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addr {
    /// The first byte of state or frame; `None` where `dynamic` is a whole bit address.
    pub(crate) base: Option<Value>,
    /// Whether it is never written while the function runs.
    pub(crate) readonly: bool,
    /// Constant part of the offset, in bits.
    pub(crate) bit: u64,
    /// Computed part.
    pub(crate) dynamic: Option<Value>,
    /// The computed part is a multiple of this.
    pub(crate) step: u64,
    /// Where all values of the computed part lead, as bits from the base.
    pub(crate) extent: Option<(u64, u64)>,
}

/// The widest field that an unaligned word holds whatever its first bit.
const ANY_SHIFT: u64 = 57;

impl Lower<'_, '_> {
    pub(crate) fn flags(&self) -> MemFlagsData {
        MemFlagsData::trusted()
    }

    /// The whole bit address of a place.
    pub(crate) fn bit_address(&mut self, addr: Addr) -> Value {
        let offset = match addr.dynamic {
            Some(dynamic) => self.add_imm(dynamic, addr.bit as i64),
            None => self.iconst(addr.bit as i64),
        };
        match addr.base {
            Some(base) => {
                let bits = self.b.ins().ishl_imm_u(base, 3);
                self.b.ins().iadd(bits, offset)
            }
            None => offset,
        }
    }

    /// Loads a word of the grid, first bit on top.
    fn grid_word(&mut self, base: Value, word: u64, readonly: bool) -> Value {
        let flags = if readonly {
            self.flags().with_readonly().with_can_move()
        } else {
            self.flags()
        };
        let loaded = self.b.ins().load(I64, flags, base, (word * 8) as i32);
        self.b.ins().bswap(loaded)
    }

    fn store_grid_word(&mut self, base: Value, word: u64, value: Value) {
        let value = self.b.ins().bswap(value);
        let flags = self.flags();
        self.b.ins().store(flags, value, base, (word * 8) as i32);
    }

    /// Cuts `width` bits out of a word, from bit `first` on.
    fn cut(&mut self, word: Value, first: u64, width: u64) -> Value {
        let below = 64 - first - width;
        if first == 0 {
            return self.shift_right(word, below);
        }
        if width <= 31 || below == 0 {
            let down = self.shift_right(word, below);
            return self.mask(down, width);
        }
        let up = self.b.ins().ishl_imm_u(word, first as i64);
        self.shift_right(up, 64 - width)
    }

    fn shift_right(&mut self, value: Value, by: u64) -> Value {
        match by {
            0 => value,
            64 => self.iconst(0),
            by => self.b.ins().ushr_imm_u(value, by as i64),
        }
    }

    fn mask(&mut self, value: Value, width: u64) -> Value {
        match width {
            64 => value,
            width => self.b.ins().band_imm_s(value, ((1u64 << width) - 1) as i64),
        }
    }

    /// The word of the grid that all values of a computed offset lead to, if there is one.
    fn single_word(addr: Addr) -> Option<u64> {
        let (lo, hi) = addr.extent?;
        (hi > lo && lo / 64 == (hi - 1) / 64).then_some(lo / 64)
    }

    /// Byte address and first bit of a field whose place is computed.
    fn computed(&mut self, addr: Addr, dynamic: Value) -> (Value, i32, Shift) {
        if let Some(base) = addr.base
            && addr.step.is_multiple_of(8)
        {
            let bytes = self.b.ins().ushr_imm_u(dynamic, 3);
            let at = self.b.ins().iadd(base, bytes);
            return (at, (addr.bit / 8) as i32, Shift::Constant(addr.bit % 8));
        }
        let total = self.add_imm(dynamic, addr.bit as i64);
        let bytes = self.b.ins().ushr_imm_u(total, 3);
        let at = match addr.base {
            Some(base) => self.b.ins().iadd(base, bytes),
            None => bytes,
        };
        let first = self.b.ins().band_imm_s(total, 7);
        (at, 0, Shift::Computed(first))
    }

    /// Reads a field of at most 64 bits.
    pub(crate) fn load_field(&mut self, addr: Addr, width: u64) -> Value {
        if width == 0 {
            return self.iconst(0);
        }
        let (Some(base), None) = (addr.base, addr.dynamic) else {
            return self.load_computed(addr, width);
        };
        if let Some(narrow) = self.narrow_constant(addr, width) {
            return self.load_narrow(base, narrow, width);
        }
        let (word, first) = (addr.bit / 64, addr.bit % 64);
        let head = self.grid_word(base, word, addr.readonly);
        if first + width <= 64 {
            return self.cut(head, first, width);
        }
        let tail = self.grid_word(base, word + 1, addr.readonly);
        let in_tail = first + width - 64;
        let head = self.mask(head, 64 - first);
        let head = self.b.ins().ishl_imm_u(head, in_tail as i64);
        let tail = self.shift_right(tail, 64 - in_tail);
        self.b.ins().bor(head, tail)
    }

    /// Reads a value of a simple type, as it is kept in registers.
    pub(crate) fn load_simple(&mut self, addr: Addr, simple: Simple) -> Value {
        let raw = self.load_field(addr, u64::from(simple.bits));
        if !simple.is_signed() {
            return raw;
        }
        let unused = i64::from(64 - simple.bits);
        let up = self.b.ins().ishl_imm_u(raw, unused);
        self.b.ins().sshr_imm_u(up, unused)
    }

    /// Writes a value of a simple type that is kept in a register.
    pub(crate) fn store_simple(&mut self, addr: Addr, simple: Simple, raw: Value) {
        let width = u64::from(simple.bits);
        let raw = match simple.is_signed() {
            true => self.mask(raw, width),
            false => raw,
        };
        self.store_field(addr, width, raw);
    }

    fn load_computed(&mut self, addr: Addr, width: u64) -> Value {
        let dynamic = addr.dynamic.expect("places without a base are computed");
        if let (Some(base), Some(word)) = (addr.base, self.whole_word(addr)) {
            let loaded = self.grid_word(base, word, addr.readonly);
            let below = self.iconst(64 - width as i64 - (addr.bit - word * 64) as i64);
            let below = self.b.ins().isub(below, dynamic);
            let down = self.b.ins().ushr(loaded, below);
            return self.mask(down, width);
        }
        if width > ANY_SHIFT {
            let at = self.bit_address(addr);
            let width = self.iconst(width as i64);
            return self
                .helper(Helper::GetBits, &[at, width])
                .expect("there is a result");
        }
        let (at, offset, first) = self.computed(addr, dynamic);
        if self.is_in_successor(addr) {
            let ty = Self::type_for(addr, width);
            let narrow = Narrow { offset, ty, first };
            return self.load_narrow(at, narrow, width);
        }
        let flags = self.flags();
        let loaded = self.b.ins().load(I64, flags, at, offset);
        let word = self.b.ins().bswap(loaded);
        match first {
            Shift::Constant(first) => self.cut(word, first, width),
            Shift::Computed(first) => {
                let up = self.b.ins().ishl(word, first);
                self.shift_right(up, 64 - width)
            }
        }
    }

    /// Replaces `width` bits of a word, `below` places from its end.
    fn insert(&mut self, word: Value, value: Value, width: u64, below: u64) -> Value {
        if width == 64 {
            return value;
        }
        let mask = ((1u64 << width) - 1) << below;
        let mask = self.iconst(!mask as i64);
        let kept = self.b.ins().band(word, mask);
        let up = if below == 0 {
            value
        } else {
            self.b.ins().ishl_imm_u(value, below as i64)
        };
        self.b.ins().bor(kept, up)
    }

    fn insert_computed(&mut self, word: Value, value: Value, width: u64, below: Value) -> Value {
        let ones = self.iconst(((1u64 << width) - 1) as i64);
        let mask = self.b.ins().ishl(ones, below);
        let kept = self.b.ins().band_not(word, mask);
        let up = self.b.ins().ishl(value, below);
        self.b.ins().bor(kept, up)
    }

    /// Writes a field of at most 64 bits; the value must fit.
    pub(crate) fn store_field(&mut self, addr: Addr, width: u64, value: Value) {
        if width == 0 {
            return;
        }
        let (Some(base), None) = (addr.base, addr.dynamic) else {
            return self.store_computed(addr, width, value);
        };
        if let Some(narrow) = self.narrow_constant(addr, width) {
            return self.store_narrow(base, narrow, width, value);
        }
        let (word, first) = (addr.bit / 64, addr.bit % 64);
        if first + width <= 64 {
            let old = if width == 64 {
                value
            } else {
                self.grid_word(base, word, false)
            };
            let new = self.insert(old, value, width, 64 - first - width);
            return self.store_grid_word(base, word, new);
        }
        let in_tail = first + width - 64;
        let upper = self.shift_right(value, in_tail);
        let old = self.grid_word(base, word, false);
        let new = self.insert(old, upper, 64 - first, 0);
        self.store_grid_word(base, word, new);
        let lower = self.mask(value, in_tail);
        let old = self.grid_word(base, word + 1, false);
        let new = self.insert(old, lower, in_tail, 64 - in_tail);
        self.store_grid_word(base, word + 1, new);
    }

    fn store_computed(&mut self, addr: Addr, width: u64, value: Value) {
        let dynamic = addr.dynamic.expect("places without a base are computed");
        if let (Some(base), Some(word)) = (addr.base, self.whole_word(addr)) {
            let old = self.grid_word(base, word, false);
            let below = self.iconst(64 - width as i64 - (addr.bit - word * 64) as i64);
            let below = self.b.ins().isub(below, dynamic);
            let new = if width == 64 {
                value
            } else {
                self.insert_computed(old, value, width, below)
            };
            return self.store_grid_word(base, word, new);
        }
        if self.is_in_successor(addr) {
            self.scattered.push(addr.extent.unwrap_or((0, u64::MAX)));
        }
        if width > ANY_SHIFT {
            let at = self.bit_address(addr);
            let width = self.iconst(width as i64);
            self.helper(Helper::SetBits, &[at, width, value]);
            return;
        }
        let (at, offset, first) = self.computed(addr, dynamic);
        let ty = Self::type_for(addr, width);
        self.store_narrow(at, Narrow { offset, ty, first }, width, value);
    }

    /// Whether a place is in a successor in the making.
    fn is_in_successor(&self, addr: Addr) -> bool {
        !self.state_is_source && addr.base == Some(self.state)
    }

    /// Whether stores of less than a word may have touched bits of a successor.
    fn is_scattered(&self, first: u64, end: u64) -> bool {
        let mut scattered = self.scattered.iter();
        scattered.any(|&(lo, hi)| lo < end && first < hi)
    }

    /// The word of the grid that is accessed for a field whose place is computed, if it is known
    /// and worth it.
    fn whole_word(&self, addr: Addr) -> Option<u64> {
        let word = Self::single_word(addr)?;
        let is_scattered =
            self.is_in_successor(addr) && self.is_scattered(word * 64, word * 64 + 64);
        (!is_scattered).then_some(word)
    }

    /// The bytes of a field at a constant place, where its words are not accessed as a whole.
    fn narrow_constant(&self, addr: Addr, width: u64) -> Option<Narrow> {
        let (first, end) = (addr.bit / 64 * 64, (addr.bit + width).next_multiple_of(64));
        if !self.is_in_successor(addr) || !self.is_scattered(first, end) {
            return None;
        }
        let first = addr.bit % 8;
        let ty = Self::type_of(first + width)?;
        Some(Narrow {
            offset: i32::try_from(addr.bit / 8).ok()?,
            ty,
            first: Shift::Constant(first),
        })
    }

    /// The smallest type of this number of bits.
    fn type_of(n_bits: u64) -> Option<Type> {
        match n_bits {
            0..=8 => Some(I8),
            9..=16 => Some(I16),
            17..=32 => Some(I32),
            33..=64 => Some(I64),
            _ => None,
        }
    }

    /// The smallest type that holds a field, and what is before it in its first byte, wherever it
    /// is. It must not be wider than [`ANY_SHIFT`].
    fn type_for(addr: Addr, width: u64) -> Type {
        // Places differ by multiples of the step, so their first bits by the largest power of two
        // in it.
        let step = match addr.base {
            Some(_) => 1 << addr.step.trailing_zeros().min(3),
            None => 1,
        };
        let most = 8 - step + addr.bit % step;
        Self::type_of(most + width).unwrap_or(I64)
    }

    /// Reads the bytes of a field, first bit on top of the type's.
    fn narrow_word(&mut self, at: Value, offset: i32, ty: Type) -> Value {
        let flags = self.flags();
        let loaded = self.b.ins().load(ty, flags, at, offset);
        let word = match ty {
            I8 => loaded,
            _ => self.b.ins().bswap(loaded),
        };
        match ty {
            I64 => word,
            _ => self.b.ins().uextend(I64, word),
        }
    }

    fn load_narrow(&mut self, at: Value, narrow: Narrow, width: u64) -> Value {
        let n_bits = u64::from(narrow.ty.bits());
        let word = self.narrow_word(at, narrow.offset, narrow.ty);
        let down = match narrow.first {
            Shift::Constant(first) => self.shift_right(word, n_bits - first - width),
            Shift::Computed(first) => {
                let below = self.iconst((n_bits - width) as i64);
                let below = self.b.ins().isub(below, first);
                self.b.ins().ushr(word, below)
            }
        };
        self.mask(down, width)
    }

    fn store_narrow(&mut self, at: Value, narrow: Narrow, width: u64, value: Value) {
        let Narrow { offset, ty, first } = narrow;
        let n_bits = u64::from(ty.bits());
        let new = if width == n_bits {
            value
        } else {
            let word = self.narrow_word(at, offset, ty);
            match first {
                Shift::Constant(first) => self.insert(word, value, width, n_bits - first - width),
                Shift::Computed(first) => {
                    let below = self.iconst((n_bits - width) as i64);
                    let below = self.b.ins().isub(below, first);
                    self.insert_computed(word, value, width, below)
                }
            }
        };
        let new = match ty {
            I64 => new,
            _ => self.b.ins().ireduce(ty, new),
        };
        let new = match ty {
            I8 => new,
            _ => self.b.ins().bswap(new),
        };
        let flags = self.flags();
        self.b.ins().store(flags, new, at, offset);
    }

    /// Splits a wide range into fields that [`load_field`](Self::load_field) takes.
    fn chunks(width: u64) -> impl Iterator<Item = (u64, u64)> {
        (0..width)
            .step_by(56)
            .map(move |at| (at, 56.min(width - at)))
    }

    fn part(addr: Addr, at: u64) -> Addr {
        Addr {
            bit: addr.bit + at,
            ..addr
        }
    }

    /// Copies bits. Places of one layout are either the same or apart.
    pub(crate) fn copy_bits(&mut self, from: Addr, to: Addr, width: u64) {
        if width <= 448 {
            let chunks: Vec<_> = Self::chunks(width).collect();
            let values: Vec<Value> = chunks
                .iter()
                .map(|&(at, n)| self.load_field(Self::part(from, at), n))
                .collect();
            for ((at, n), value) in chunks.into_iter().zip(values) {
                self.store_field(Self::part(to, at), n, value);
            }
            return;
        }
        let from = self.bit_address(from);
        let to = self.bit_address(to);
        let width = self.iconst(width as i64);
        self.helper(Helper::CopyBits, &[from, to, width]);
    }

    /// Compares bits; the result is a truth value.
    pub(crate) fn equal_bits(&mut self, a: Addr, b: Addr, width: u64) -> Value {
        if width <= 56 {
            let a = self.load_field(a, width);
            let b = self.load_field(b, width);
            return self.b.ins().icmp(IntCC::Equal, a, b);
        }
        let a = self.bit_address(a);
        let b = self.bit_address(b);
        let width = self.iconst(width as i64);
        let equal = self
            .helper(Helper::EqualBits, &[a, b, width])
            .expect("there is a result");
        self.b.ins().icmp_imm_s(IntCC::NotEqual, equal, 0)
    }

    /// Sets bits to zero.
    pub(crate) fn zero_bits(&mut self, addr: Addr, width: u64) {
        if width <= 448 {
            let zero = self.iconst(0);
            for (at, n) in Self::chunks(width) {
                self.store_field(Self::part(addr, at), n, zero);
            }
            return;
        }
        let at = self.bit_address(addr);
        let width = self.iconst(width as i64);
        self.helper(Helper::ZeroBits, &[at, width]);
    }

    /// Sets bits to a constant pattern.
    pub(crate) fn write_image(&mut self, addr: Addr, image: &[bool]) {
        let width = image.len() as u64;
        if width <= 448 {
            for (at, n) in Self::chunks(width) {
                let bits = &image[at as usize..(at + n) as usize];
                let value = bits
                    .iter()
                    .fold(0i64, |sum, &bit| sum << 1 | i64::from(bit));
                let value = self.iconst(value);
                self.store_field(Self::part(addr, at), n, value);
            }
            return;
        }
        let mut bytes = vec![0u8; image.len().div_ceil(8) + 16];
        for (at, _) in image.iter().enumerate().filter(|(_, bit)| **bit) {
            bytes[at / 8] |= 0x80 >> (at % 8);
        }
        let address = self.unit.keep_image(bytes);
        let from = self.iconst((address as i64) << 3);
        let to = self.bit_address(addr);
        let width = self.iconst(width as i64);
        self.helper(Helper::CopyBits, &[from, to, width]);
    }
}

/// The bytes that hold a field.
#[derive(Clone, Copy)]
struct Narrow {
    offset: i32,
    ty: Type,
    first: Shift,
}

/// The first bit of a field within its word.
#[derive(Clone, Copy)]
enum Shift {
    Constant(u64),
    Computed(Value),
}
