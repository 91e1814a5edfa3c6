-- The signals of a crossing of two streets with a pedestrian button.  Safety:
-- at most one of the three directions has right of way, and a signal goes
-- from green to red through amber only.  The cover properties make sure that
-- the model is not safe merely because it never does anything: every listed
-- situation must occur in some reachable state.
--
-- expect: verified
-- states: 224
-- transitions: 752
-- depth: 12
-- exit: 0

type
  Street: enum { NorthSouth, EastWest };
  Signal: enum { Red, Amber, Green };

var
  signal:  array [Street] of Signal;
  walk:    boolean;                      -- the pedestrians' light
  pressed: boolean;                      -- somebody wants to cross on foot
  next:    Street;                       -- whose turn it is after all-red
  waiting: array [Street] of 0..3;       -- cars in front of the signal

function allRed(): boolean;
begin
  return !walk & forall s: Street do signal[s] = Red end;
end;

rule "press the button"
  !pressed & !walk
==>
begin
  pressed := true;
end;

rule "let the pedestrians walk"
  allRed() & pressed
==>
begin
  walk := true;
  pressed := false;
  cover waiting[NorthSouth] = 3 & waiting[EastWest] = 3
    "pedestrians walk while both streets are jammed";
end;

rule "end of the walk"
  walk
==>
begin
  walk := false;
end;

ruleset s: Street do

  rule "a car arrives"
    waiting[s] < 3
  ==>
  begin
    waiting[s] := waiting[s] + 1;
  end;

  rule "a car drives"
    waiting[s] > 0 & signal[s] != Red
  ==>
  begin
    assert !walk "a car drives among pedestrians";
    waiting[s] := waiting[s] - 1;
  end;

  rule "give way to the next street"
    allRed() & !pressed & next = s
  ==>
  begin
    signal[s] := Green;
    next := (s = NorthSouth ? EastWest : NorthSouth);
  end;

  rule "turn amber"
    signal[s] = Green
  ==>
  begin
    signal[s] := Amber;
  end;

  rule "turn red"
    signal[s] = Amber
  ==>
  begin
    signal[s] := Red;
  end;

end;

startstate "all red"
begin
  for s: Street do
    signal[s] := Red;
    waiting[s] := 0;
  end;
  walk := false;
  pressed := false;
  next := NorthSouth;
end;

invariant "one street at a time"
  signal[NorthSouth] = Red | signal[EastWest] = Red;

invariant "pedestrians are alone"
  walk -> forall s: Street do signal[s] = Red end;

ruleset s: Street do
  cover "a street is green while the other is full"
    signal[s] = Green
    & exists t: Street do t != s & waiting[t] = 3 end;

  cover "a car is caught by amber"
    signal[s] = Amber & waiting[s] > 0;
end;

cover "somebody waits on foot while cars have green"
  pressed & signal[NorthSouth] = Green;
