-- Jobs are assigned to machines by nested loops over two scalarsets: each job takes the first free
-- machine.
--
-- order: dependent
-- off: violated
type
  Job: scalarset(2);
  Machine: scalarset(2);
var
  big: array [Job] of boolean;
  fast: array [Machine] of boolean;
  on: array [Job] of Machine;
  assigned: boolean;
startstate
  for j: Job do big[j] := false; end;
  for m: Machine do fast[m] := false; end;
  undefine on;
  assigned := false;
end;
ruleset j: Job do rule "grow" !assigned ==> big[j] := !big[j]; end; end;
ruleset m: Machine do rule "tune" !assigned ==> fast[m] := !fast[m]; end; end;
rule "assign" !assigned ==>
  for j: Job do
    for m: Machine do
      if isundefined(on[j]) & !exists k: Job do !isundefined(on[k]) & on[k] = m end then
        on[j] := m;
      end;
    end;
  end;
  assigned := true;
end;
rule "done" assigned ==> undefine on; assigned := false; end;
invariant "big jobs get the fast machine"
  !assigned | forall j: Job; k: Job do
    big[j] & !big[k] & fast[on[k]] -> fast[on[j]]
  end;
