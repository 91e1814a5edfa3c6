-- A driver hands buffers to a device through a ring of descriptors.  The rule
-- is: fill in the length first, then flip the owner bit.  Compiled code may
-- swap the two stores, and on a weakly ordered machine the device may see them
-- in the other order even if it did not; here the driver lacks the barrier that
-- would prevent it.  Sooner or later the device takes a descriptor whose length
-- has not been written yet: a read of an undefined value.
--
-- Descriptors are undefined again when the driver takes them back, so that a
-- stale length does not hide the mistake.
--
-- expect: violated
-- exit: 1
-- violation: undefined depth 7

const
  DESCRIPTORS: 3;
  LONGEST:     2;
  HEADER:      1;                        -- bytes sent before the contents

type
  Descriptor: 0..DESCRIPTORS - 1;
  Length:     1..LONGEST;
  Party:      enum { Driver, Device };
  Stores:     enum { Nothing, OwnerDue, LengthDue };  -- not yet performed

  Entry: record
    owner:  Party;
    length: Length;
    done:   boolean;
  end;

var
  ring:    array [Descriptor] of Entry;
  fillAt:  Descriptor;                   -- the driver's position
  due:     Stores;
  size:    Length;                       -- length to be stored
  workAt:  Descriptor;                   -- the device's position
  left:    0..HEADER + LONGEST;          -- bytes still to transfer
  busy:    boolean;

procedure driverMovesOn();
begin
  due := Nothing;
  undefine size;
  fillAt := (fillAt + 1) % DESCRIPTORS;
end;

ruleset l: Length do
  rule "driver stores the length first"
    due = Nothing & ring[fillAt].owner = Driver & !ring[fillAt].done
  ==>
  begin
    ring[fillAt].length := l;
    size := l;
    due := OwnerDue;
  end;

  rule "driver's stores are swapped"
    due = Nothing & ring[fillAt].owner = Driver & !ring[fillAt].done
    & exists d: Descriptor do ring[d].done end     -- the busy path only
  ==>
  begin
    ring[fillAt].owner := Device;
    size := l;
    due := LengthDue;
  end;
end;

rule "driver stores the owner"
  due = OwnerDue
==>
begin
  ring[fillAt].owner := Device;
  driverMovesOn();
end;

rule "driver stores the length late"
  due = LengthDue
==>
begin
  ring[fillAt].length := size;
  driverMovesOn();
end;

rule "device starts a transfer"
  !busy & ring[workAt].owner = Device
==>
begin
  left := HEADER + ring[workAt].length;
  busy := true;
end;

rule "device transfers a byte"
  busy & left > 0
==>
begin
  left := left - 1;
end;

rule "device completes"
  busy & left = 0
==>
begin
  ring[workAt].owner := Driver;
  ring[workAt].done := true;
  workAt := (workAt + 1) % DESCRIPTORS;
  busy := false;
end;

ruleset d: Descriptor do
  rule "driver takes a descriptor back"
    ring[d].owner = Driver & ring[d].done
  ==>
  begin
    undefine ring[d];
    ring[d].owner := Driver;
    ring[d].done := false;
  end;
end;

startstate "all descriptors free"
begin
  for d: Descriptor do
    undefine ring[d];
    ring[d].owner := Driver;
    ring[d].done := false;
  end;
  fillAt := 0;
  workAt := 0;
  due := Nothing;
  undefine size;
  left := 0;
  busy := false;
end;

invariant "the device works on its own descriptor"
  busy -> ring[workAt].owner = Device;
