-- Every iteration assigns one field of a local record, and only the first iteration that may
-- assigns the other one, which is read after the loop. The record as a whole looks private to an
-- iteration.
--
-- order: dependent
-- off: violated
const BOOT: 200;
type
  Proc: scalarset(2);
  Scan: record current: Proc; first: Proc; end;
var
  boot: 0..BOOT;
  ready: array [Proc] of boolean;
  chosen, owner: Proc;
startstate
  boot := 0;
  for p: Proc do ready[p] := true; end;
  undefine chosen; undefine owner;
end;
rule "boot" boot < BOOT - 1 ==> boot := boot + 1; end;
ruleset p: Proc do
  rule "own" boot = BOOT - 1 ==> owner := p; boot := BOOT; end;
end;
rule "choose" boot = BOOT & isundefined(chosen) ==>
  var scan: Scan;
begin
  for p: Proc do
    scan.current := p;
    if isundefined(scan.first) & ready[scan.current] then scan.first := p; end;
  end;
  chosen := scan.first;
end;
rule "reboot" boot = BOOT & !isundefined(chosen) ==>
  undefine chosen; undefine owner; boot := 0;
end;
invariant "the owner is not chosen" isundefined(chosen) | chosen != owner;
