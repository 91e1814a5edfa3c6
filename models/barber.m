-- Dijkstra's sleeping barber.  The barber sleeps while the waiting room is
-- empty; a customer who comes wakes him or takes a chair, and goes away if no
-- chair is free.  The barber calls waiting customers in any order.
--
-- The liveness property is stated for each customer by itself: from every
-- reachable state, this very customer can still get a haircut.  Customers are
-- interchangeable, the property of a single one is not; a checker that reduces
-- by symmetry has to keep track of who is who here.
--
-- expect: verified
-- states: 7
-- transitions: 23
-- depth: 4
-- exit: 0

const
  CUSTOMERS: 4;
  CHAIRS:    2;

type
  Customer: scalarset(CUSTOMERS);
  Seats:    0..CHAIRS;
  Place:    enum { Street, Waiting, InChair };
  Barber:   enum { Sleeping, Cutting, Tidying };

var
  place:    array [Customer] of Place;
  occupied: Seats;                       -- chairs in the waiting room
  barber:   Barber;

ruleset c: Customer do

  rule "wake the barber"
    place[c] = Street & barber = Sleeping
  ==>
  begin
    place[c] := InChair;
    barber := Cutting;
  end;

  rule "take a seat"
    place[c] = Street & barber != Sleeping & occupied < CHAIRS
  ==>
  begin
    place[c] := Waiting;
    occupied := occupied + 1;
  end;

  rule "leave with a haircut"
    place[c] = InChair
  ==>
  begin
    place[c] := Street;
    barber := Tidying;
  end;

  rule "be called in"
    place[c] = Waiting & barber = Tidying
  ==>
  begin
    place[c] := InChair;
    occupied := occupied - 1;
    barber := Cutting;
  end;

end;

rule "fall asleep"
  barber = Tidying & occupied = 0
==>
begin
  barber := Sleeping;
end;

startstate "no customers"
begin
  for c: Customer do
    place[c] := Street;
  end;
  occupied := 0;
  barber := Sleeping;
end;

invariant "one customer in the barber's chair"
  forall c: Customer do
    forall d: Customer do
      place[c] = InChair & place[d] = InChair -> c = d
    end
  end;

invariant "nobody waits for a sleeping barber"
  barber = Sleeping -> forall c: Customer do place[c] = Street end;

ruleset c: Customer do
  liveness "every customer can get a haircut"
    place[c] = InChair;
end;
