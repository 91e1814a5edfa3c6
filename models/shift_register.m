-- A linear feedback shift register in Galois form, as used for scrambling and
-- cheap pseudo-random numbers.  With a primitive feedback polynomial it runs
-- through all values except zero before it repeats.  Twelve bits and the taps
-- 0xE08 give a cycle of 4095 states; the cover property shows that the register
-- comes to its very last value, the predecessor of the seed.
--
-- Written with hexadecimal literals, bit operators and mathematical symbols.
--
-- expect: verified
-- states: 4095
-- transitions: 4095
-- depth: 4094
-- exit: 0

const
  SEED: 0x001;
  TAPS: 0xE08;
  MASK: 0xFFF;

type
  Word: 0x000..0xFFF;

var
  register: Word;
  parity:   boolean;              -- exclusive or of all bits shifted out

function next(w: Word): Word;
begin
  if (w & 1) = 1 then
    return ((w >> 1) ^ TAPS) & MASK;
  end;
  return w >> 1;
end;

function lowByte(w: Word): Word;
begin
  return w & 0xFF;
end;

rule "shift"
  register ≠ 0
⇒
begin
  parity ≔ parity ≠ ((register & 1) = 1);
  register ≔ next(register);
end;

startstate "seeded"
begin
  register ≔ SEED;
  parity ≔ false;
end;

invariant "the register never gets stuck at zero"
  ¬(register = 0);

invariant "splitting and joining bytes loses nothing"
  (((register >> 8) << 8) | lowByte(register)) = register
  ∧ (register ^ register) = 0
  ∧ ((~register) & MASK) = MASK − register;

invariant "a word is at least as large as each of its bits"
  ∀ b: 0..11 do
    (register & (1 << b)) ≤ register
  end;

cover "the last value before the seed"
  next(register) = SEED ∧ register ≠ SEED;

cover "a multiple of seventeen with all bits set but one"
  ∃ b: 0..11 do
    register = MASK − (1 << b) ∧ (register ÷ 17) × 17 = register
  end;
