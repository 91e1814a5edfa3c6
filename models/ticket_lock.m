-- A ticket lock.  Acquiring takes a ticket with an atomic fetch-and-increment
-- and spins until the display shows it; releasing increments the display.
-- Both counters wrap around at N: since no more than N tickets are out at any
-- time, the wrapped numbers never collide.  The lock is first come, first
-- served, which is checked through a ghost queue of the waiting threads.
--
-- expect: verified
-- states: 55
-- transitions: 175
-- depth: 18
-- exit: 0
-- scale: N=6 states 78 transitions 288

const
  N: 5;

type
  Thread:   scalarset(N);
  Ticket:   0..N - 1;
  Activity: enum { Working, Spinning, Critical };

var
  activity:  array [Thread] of Activity;
  ticket:    array [Thread] of Ticket;   -- undefined while working
  nextFree:  Ticket;                     -- the dispenser
  display:   Ticket;                     -- now serving

  arrivals:  array [Ticket] of Thread;   -- ghost: who came, in order
  waiting:   0..N;                       -- ghost: length of the above

ruleset t: Thread do

  rule "take a ticket"
    activity[t] = Working
  ==>
  begin
    ticket[t] := nextFree;
    nextFree := (nextFree + 1) % N;
    activity[t] := Spinning;
    arrivals[waiting] := t;
    waiting := waiting + 1;
  end;

  rule "enter"
    activity[t] = Spinning & ticket[t] = display
  ==>
  begin
    assert arrivals[0] = t "overtaken by a later thread";
    activity[t] := Critical;
  end;

  rule "release"
    activity[t] = Critical
  ==>
  begin
    display := (display + 1) % N;
    undefine ticket[t];
    activity[t] := Working;
    for i: Ticket do
      if i + 1 < waiting then
        arrivals[i] := arrivals[i + 1];
      end;
    end;
    waiting := waiting - 1;
    undefine arrivals[waiting];
  end;

end;

startstate "free"
begin
  for t: Thread do
    activity[t] := Working;
    undefine ticket[t];
  end;
  nextFree := 0;
  display := 0;
  undefine arrivals;
  waiting := 0;
end;

invariant "mutual exclusion"
  forall t: Thread do
    forall u: Thread do
      activity[t] = Critical & activity[u] = Critical -> t = u
    end
  end;

invariant "tickets that are out differ"
  forall t: Thread do
    forall u: Thread do
      t != u & activity[t] != Working & activity[u] != Working
        -> ticket[t] != ticket[u]
    end
  end;
