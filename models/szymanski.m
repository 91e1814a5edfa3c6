-- Szymanski's mutual exclusion algorithm, built after a waiting room with two
-- doors.  Processes pass the entry door while it is open; the last one in
-- closes it and opens the exit door, and those inside then leave through the
-- critical section in the order of their numbers.  Each process owns a single
-- five-valued variable which only it writes.  No process is ever overtaken
-- by more than one round of others.
--
-- The tests over all processes are taken as atomic.  There is no symmetry:
-- process numbers are compared.  The model is a scalable workload.
--
-- expect: verified
-- states: 1385
-- transitions: 3639
-- depth: 18
-- exit: 0
-- scale: N=6 states 37465 transitions 141521
-- scale: N=8 states 975705 transitions 4829211
-- scale: N=10

const
  N: 4;

type
  Process: 0..N - 1;
  Station: enum {
    Away,            -- not interested
    AtEntry,         -- standing in front of the entry door
    Inside,          -- waiting for others to come through the door
    InDoorway,       -- just going through
    DoorShut         -- the entry door is shut behind this one
  };
  Line: enum { Rest, Knock, Pass, Look, Gather, Queue, Critical, Leave };

var
  station: array [Process] of Station;
  line:    array [Process] of Line;

ruleset p: Process do

  rule "take an interest"
    line[p] = Rest
  ==>
  begin
    station[p] := AtEntry;
    line[p] := Knock;
  end;

  rule "find the entry door open"
    line[p] = Knock
    & forall q: Process do
        station[q] != InDoorway & station[q] != DoorShut
      end
  ==>
  begin
    line[p] := Pass;
  end;

  rule "step into the doorway"
    line[p] = Pass
  ==>
  begin
    station[p] := InDoorway;
    line[p] := Look;
  end;

  rule "others are still coming"
    line[p] = Look & exists q: Process do station[q] = AtEntry end
  ==>
  begin
    station[p] := Inside;
    line[p] := Gather;
  end;

  rule "be the last one in"
    line[p] = Look & forall q: Process do station[q] != AtEntry end
  ==>
  begin
    station[p] := DoorShut;
    line[p] := Queue;
  end;

  rule "notice that the door is shut"
    line[p] = Gather & exists q: Process do station[q] = DoorShut end
  ==>
  begin
    station[p] := DoorShut;
    line[p] := Queue;
  end;

  rule "be the lowest number inside"
    line[p] = Queue
    & forall q: Process do
        q < p -> (station[q] = Away | station[q] = AtEntry)
      end
  ==>
  begin
    line[p] := Critical;
  end;

  rule "finish"
    line[p] = Critical
  ==>
  begin
    line[p] := Leave;
  end;

  -- Higher numbers must have noticed that the door is shut first.
  rule "leave the building"
    line[p] = Leave
    & forall q: Process do
        q > p -> (station[q] != Inside & station[q] != InDoorway)
      end
  ==>
  begin
    station[p] := Away;
    line[p] := Rest;
  end;

end;

startstate "all away"
begin
  for p: Process do
    station[p] := Away;
    line[p] := Rest;
  end;
end;

invariant "mutual exclusion"
  forall p: Process do
    forall q: Process do
      line[p] = Critical & line[q] = Critical -> p = q
    end
  end;

invariant "the door is shut while somebody is critical"
  (exists p: Process do line[p] = Critical end) ->
    (exists p: Process do station[p] = DoorShut end);
