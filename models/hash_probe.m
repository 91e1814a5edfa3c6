-- A hash table with open addressing and a multiplicative hash.  The author took
-- the constant from a program where arithmetic wraps around at 64 bits.  Here
-- numbers are mathematical up to 64 bits and leaving them is a fault: the
-- product for the first key still fits, the one for a later key does not.
--
-- expect: violated
-- exit: 1
-- violation: overflow depth 2

const
  KEYS:  4;
  SLOTS: 5;
  PHI:   0x3C6EF372FE94F82A;             -- from the golden ratio

type
  Key:  1..KEYS;
  Slot: 0..SLOTS - 1;

var
  table: array [Slot] of Key;            -- undefined: free

function hash(k: Key): Slot;
begin
  return (k * PHI) % SLOTS;              -- overflows for k = 3
end;

function present(k: Key): boolean;
begin
  return exists s: Slot do
    !isundefined(table[s]) & table[s] = k
  end;
end;

ruleset k: Key do

  -- Keys come in ascending order.
  rule "insert"
    !present(k)
    & forall j: Key do j < k -> present(j) end
  ==>
  var
    at: Slot;
  begin
    at := hash(k);
    while !isundefined(table[at]) do
      at := (at + 1) % SLOTS;
    end;
    table[at] := k;
  end;

  rule "delete"
    present(k) & forall j: Key do j > k -> !present(j) end
  ==>
  begin
    for s: Slot do
      if !isundefined(table[s]) & table[s] = k then
        undefine table[s];
      end;
    end;
  end;

end;

startstate "empty table"
begin
  undefine table;
end;

invariant "no key is stored twice"
  forall s: Slot do
    forall t: Slot do
      s != t & !isundefined(table[s]) & !isundefined(table[t])
        -> table[s] != table[t]
    end
  end;
