-- Dining philosophers without deadlock: the last philosopher is left-handed
-- and picks up the right fork first.  The waiting-for relation can then never
-- close to a cycle.  Putting the forks down takes two separate steps, which
-- makes the model scale steeply with N; it has no symmetry to exploit, since
-- the seats stand in a ring and one of them is special.
--
-- expect: verified
-- states: 6336
-- transitions: 31656
-- depth: 21
-- exit: 0
-- scale: N=9 states 558144 transitions 4198064
-- scale: N=12

const
  N: 6;                          -- philosophers, and forks

type
  Seat: 0..N - 1;
  Mood: enum { Thinking, Hungry, HoldsFirst, Eating, Leaving };

var
  mood:  array [Seat] of Mood;
  taken: array [Seat] of boolean;        -- fork s lies left of seat s

function leftHanded(s: Seat): boolean;
begin
  return s = N - 1;
end;

function firstFork(s: Seat): Seat;
begin
  if leftHanded(s) then
    return (s + 1) % N;
  end;
  return s;
end;

function secondFork(s: Seat): Seat;
begin
  if leftHanded(s) then
    return s;
  end;
  return (s + 1) % N;
end;

ruleset s: Seat do

  rule "get hungry"
    mood[s] = Thinking
  ==>
  begin
    mood[s] := Hungry;
  end;

  rule "take the first fork"
    mood[s] = Hungry & !taken[firstFork(s)]
  ==>
  begin
    taken[firstFork(s)] := true;
    mood[s] := HoldsFirst;
  end;

  rule "take the second fork"
    mood[s] = HoldsFirst & !taken[secondFork(s)]
  ==>
  begin
    taken[secondFork(s)] := true;
    mood[s] := Eating;
  end;

  rule "put the second fork down"
    mood[s] = Eating
  ==>
  begin
    taken[secondFork(s)] := false;
    mood[s] := Leaving;
  end;

  rule "put the first fork down"
    mood[s] = Leaving
  ==>
  begin
    taken[firstFork(s)] := false;
    mood[s] := Thinking;
  end;

end;

startstate "all think"
begin
  for s: Seat do
    mood[s] := Thinking;
    taken[s] := false;
  end;
end;

invariant "neighbours never eat at the same time"
  forall s: Seat do
    mood[s] = Eating -> mood[(s + 1) % N] != Eating
  end;

invariant "a fork in use has a user"
  forall s: Seat do
    taken[s] ->
      (exists t: Seat do
         (firstFork(t) = s
          & (mood[t] = HoldsFirst | mood[t] = Eating | mood[t] = Leaving))
         | (secondFork(t) = s & mood[t] = Eating)
       end)
  end;
