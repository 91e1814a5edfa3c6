-- A dispatcher computes the average load of the workers that are up.  It looks
-- first whether there are any, and divides later; the last worker may go down
-- in between.  The search finds the division by zero.
--
-- expect: violated
-- exit: 1
-- violation: division depth 3

const
  WORKERS: 3;
  MOST:    2;                            -- jobs per worker

type
  Worker: scalarset(WORKERS);
  Jobs:   0..MOST;
  Stage:  enum { Idle, Checked };

var
  up:      array [Worker] of boolean;
  jobs:    array [Worker] of Jobs;
  stage:   Stage;
  average: Jobs;

function alive(): 0..WORKERS;
var
  n: 0..WORKERS;
begin
  n := 0;
  for w: Worker do
    if up[w] then
      n := n + 1;
    end;
  end;
  return n;
end;

function total(): 0..WORKERS * MOST;
var
  sum: 0..WORKERS * MOST;
begin
  sum := 0;
  for w: Worker do
    if up[w] then
      sum := sum + jobs[w];
    end;
  end;
  return sum;
end;

ruleset w: Worker do

  rule "worker comes up"
    !up[w]
  ==>
  begin
    up[w] := true;
    jobs[w] := 0;
  end;

  rule "worker gets a job"
    up[w] & jobs[w] <= average & jobs[w] < MOST
  ==>
  begin
    jobs[w] := jobs[w] + 1;
  end;

  rule "worker finishes a job"
    up[w] & jobs[w] > 0
  ==>
  begin
    jobs[w] := jobs[w] - 1;
  end;

  rule "worker goes down"
    up[w] & jobs[w] = 0
  ==>
  begin
    up[w] := false;
  end;

end;

rule "dispatcher checks that somebody is up"
  stage = Idle & exists w: Worker do up[w] end
==>
begin
  stage := Checked;
end;

rule "dispatcher computes the average"
  stage = Checked
==>
begin
  average := total() / alive();
  stage := Idle;
end;

startstate "all down"
begin
  for w: Worker do
    up[w] := false;
    jobs[w] := 0;
  end;
  stage := Idle;
  average := 0;
end;

invariant "workers that are down have no jobs"
  forall w: Worker do !up[w] -> jobs[w] = 0 end;
