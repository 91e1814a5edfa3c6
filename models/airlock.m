-- An airlock with two doors, each with its own controller.  A controller opens
-- its door when the sensor says that the other one is shut and the pressure is
-- right; but it acts on the reading some time after taking it.  The pump may
-- change the pressure meanwhile and the other controller may act on an equally
-- old reading.  A door that opens while the other stands open raises the error.
--
-- expect: violated
-- exit: 1
-- violation: error "open the door" depth 5

type
  Side:     enum { Inner, Outer };
  Pressure: enum { Low, High };
  Door:     enum { Shut, Open };
  Step:     enum { Watching, Cleared };

var
  door:     array [Side] of Door;
  step:     array [Side] of Step;
  chamber:  Pressure;
  pumping:  boolean;

function other(s: Side): Side;
begin
  return s = Inner ? Outer : Inner;
end;

function wanted(s: Side): Pressure;
begin
  return s = Inner ? High : Low;
end;

ruleset s: Side do

  rule "find everything in order"
    step[s] = Watching & door[s] = Shut & door[other(s)] = Shut
    & chamber = wanted(s) & !pumping
  ==>
  begin
    step[s] := Cleared;
  end;

  rule "open the door"
    step[s] = Cleared
  ==>
  begin
    if door[other(s)] = Open then
      error "both doors are open";
    end;
    door[s] := Open;
    step[s] := Watching;
  end;

  rule "shut the door"
    door[s] = Open
  ==>
  begin
    door[s] := Shut;
  end;

end;

rule "start the pump"
  !pumping & forall s: Side do door[s] = Shut end
==>
begin
  pumping := true;
end;

rule "pressure reached"
  pumping
==>
begin
  chamber := (chamber = Low ? High : Low);
  pumping := false;
end;

startstate "shut, pressure high"
begin
  for s: Side do
    door[s] := Shut;
    step[s] := Watching;
  end;
  chamber := High;
  pumping := false;
end;

invariant "not both doors"
  !(forall s: Side do door[s] = Open end);
