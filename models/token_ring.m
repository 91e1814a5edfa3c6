-- Dijkstra's self-stabilising token ring.  N stations hold a counter modulo K
-- and look only at their left neighbour.  Station 0 has the token when its
-- counter equals its neighbour's, and passes it on by counting up; any other
-- station has it when its counter differs, and passes it on by copying.  From
-- whatever contents a fault leaves behind, the ring settles to exactly one
-- token, provided K is at least N.
--
-- Faults may set any counter to anything, until they cease for good.  The
-- model then visits all K^N contents twice: an easy way to a state space
-- of a size known beforehand.
--
-- expect: verified
-- states: 6250
-- transitions: 86875
-- depth: 6
-- exit: 0
-- scale: N=6 K=6 states 93312 transitions 1850688
-- scale: N=7 K=7 states 1647086 transitions 44118375
-- scale: N=8 K=8 states 33554432 transitions 1166016512

const
  N: 5;                          -- stations
  K: 5;                          -- counter values

type
  Station: 0..N - 1;
  Counter: 0..K - 1;
  Era:     enum { Faulty, Settling, Settled };

var
  counter: array [Station] of Counter;
  era:     Era;

function hasToken(s: Station): boolean;
begin
  if s = 0 then
    return counter[0] = counter[N - 1];
  end;
  return counter[s] != counter[s - 1];
end;

function oneToken(): boolean;
var
  found: 0..N;
begin
  found := 0;
  for s: Station do
    if hasToken(s) then
      found := found + 1;
    end;
  end;
  return found = 1;
end;

ruleset s: Station do

  rule "pass the token on"
    hasToken(s)
  ==>
  begin
    if s = 0 then
      counter[0] := (counter[0] + 1) % K;
    else
      counter[s] := counter[s - 1];
    end;
    if era = Settling & oneToken() then
      era := Settled;
    end;
  end;

  ruleset c: Counter do
    rule "fault"
      era = Faulty & counter[s] != c
    ==>
    begin
      counter[s] := c;
    end;
  end;

end;

rule "faults cease"
  era = Faulty
==>
begin
  era := (oneToken() ? Settled : Settling);
end;

startstate "station 0 has the token"
begin
  for s: Station do
    counter[s] := 0;
  end;
  era := Faulty;
end;

invariant "there is always a token"
  exists s: Station do hasToken(s) end;

invariant "once settled, forever one token"
  era = Settled -> oneToken();

liveness "the ring can settle"
  era = Settled;
