-- Peterson's mutual exclusion algorithm for N processes, also known as the
-- filter lock.  A process climbs N - 1 waiting levels; on every level it
-- names itself the level's victim and may go on only when another process
-- has taken that role or nobody else stands at its level or above.  At most
-- N - l processes get past level l, hence at most one gets past the last.
--
-- Waiting means looking at the other processes one after the other, so the
-- scan is modelled step by step, not as one atomic test.  The processes are
-- interchangeable: symmetry reduction shrinks the state space by up to N!.
--
-- expect: verified
-- states: 49302
-- transitions: 189182
-- depth: 46
-- exit: 0
-- scale: N=3 states 1046 transitions 2697

const
  N: 4;                          -- number of processes

type
  Process: scalarset(N);
  Count:   0..N;
  Level:   0..N - 1;             -- 0: not competing
  Place:   enum { Idle, Enter, Announce, Scan, Critical };

var
  place:  array [Process] of Place;
  level:  array [Process] of Level;
  victim: array [Level] of Process;
  passed: array [Process] of array [Process] of boolean;  -- scan progress

procedure startScan(p: Process);
begin
  for q: Process do
    passed[p][q] := q = p;
  end;
end;

-- How many processes have won level l, whatever they did since.
function passedBy(l: Level): Count;
var
  count: Count;
begin
  count := 0;
  for p: Process do
    if level[p] > l
       | (level[p] = l & (place[p] = Enter | place[p] = Critical)) then
      count := count + 1;
    end;
  end;
  return count;
end;

ruleset p: Process do

  rule "compete"
    place[p] = Idle
  ==>
  begin
    place[p] := Enter;
  end;

  rule "climb one level"
    place[p] = Enter
  ==>
  begin
    level[p] := level[p] + 1;
    place[p] := Announce;
  end;

  rule "become the victim"
    place[p] = Announce
  ==>
  begin
    victim[level[p]] := p;
    startScan(p);
    place[p] := Scan;
  end;

  -- One read of another process's level.
  ruleset q: Process do
    rule "pass a lower process"
      place[p] = Scan & !passed[p][q] & level[q] < level[p]
    ==>
    begin
      passed[p][q] := true;
    end;
  end;

  rule "level is won"
    place[p] = Scan
    & (victim[level[p]] != p
       | forall q: Process do passed[p][q] end)
  ==>
  begin
    for q: Process do
      passed[p][q] := false;
    end;
    if level[p] = N - 1 then
      place[p] := Critical;
    else
      place[p] := Enter;
    end;
  end;

  rule "leave"
    place[p] = Critical
  ==>
  begin
    level[p] := 0;
    place[p] := Idle;
  end;

end;

ruleset p: Process do
  startstate "nobody competes"
  begin
    for q: Process do
      place[q] := Idle;
      level[q] := 0;
      for r: Process do
        passed[q][r] := false;
      end;
    end;
    for l: Level do
      victim[l] := p;
    end;
  end;
end;

invariant "mutual exclusion"
  forall p: Process do
    forall q: Process do
      p != q -> !(place[p] = Critical & place[q] = Critical)
    end
  end;

invariant "at most N - l processes have passed level l"
  forall l: Level do
    l = 0 | passedBy(l) <= N - l
  end;
