-- A lift that serves calls from all floors.  It keeps its direction as long as
-- there is a call ahead, and turns around only when there is none; it never
-- moves with the door open.  The liveness properties state that, whatever has
-- happened, every floor can still be served: there is no state from which the
-- lift is lost to somebody.
--
-- expect: verified
-- states: 1532
-- transitions: 6221
-- depth: 14
-- exit: 0
-- scale: FLOORS=10 states 40956 transitions 247725
-- scale: FLOORS=15 states 1966076 transitions 16777093
-- scale: FLOORS=18

const
  FLOORS: 6;

type
  Storey:  0..FLOORS - 1;
  Heading: enum { Upward, Downward };
  Door:    enum { Shut, Open };

var
  at:      Storey;
  heading: Heading;
  door:    Door;
  called:  array [Storey] of boolean;

function callAbove(): boolean;
begin
  return exists f: Storey do f > at & called[f] end;
end;

function callBelow(): boolean;
begin
  return exists f: Storey do f < at & called[f] end;
end;

ruleset f: Storey do
  rule "call the lift"
    !called[f]
  ==>
  begin
    called[f] := true;
  end;
end;

rule "open the door"
  door = Shut & called[at]
==>
begin
  door := Open;
  called[at] := false;
end;

rule "shut the door"
  door = Open
==>
begin
  door := Shut;
end;

rule "go up"
  door = Shut & !called[at] & heading = Upward & callAbove()
==>
begin
  at := at + 1;
end;

rule "go down"
  door = Shut & !called[at] & heading = Downward & callBelow()
==>
begin
  at := at - 1;
end;

rule "turn downward"
  door = Shut & heading = Upward & !callAbove() & callBelow()
==>
begin
  heading := Downward;
end;

rule "turn upward"
  door = Shut & heading = Downward & !callBelow() & callAbove()
==>
begin
  heading := Upward;
end;

startstate "waiting on the ground floor"
begin
  at := 0;
  heading := Upward;
  door := Shut;
  for f: Storey do
    called[f] := false;
  end;
end;

invariant "the lift does not run out of the shaft"
  (at = FLOORS - 1 -> !callAbove()) & (at = 0 -> !callBelow());

ruleset f: Storey do
  liveness "every floor can be served"
    at = f & door = Open;
end;

liveness "all calls can be answered"
  forall f: Storey do !called[f] end;
