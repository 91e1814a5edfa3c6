-- Flags that only rise: one is set in any pass that finds a fault, the other one is cleared in any
-- pass that does not.
--
-- order: innocent
-- off: verified
-- orbits: 12
const N: 3;
type Disk: scalarset(N);
var
  bad: array [Disk] of boolean;
  any, all: boolean;
startstate for d: Disk do bad[d] := false; end; any := false; all := false; end;
ruleset d: Disk do rule "toggle" bad[d] := !bad[d]; end; end;
rule "scan"
  any := false; all := true;
  for d: Disk do
    if bad[d] then any := true; else all := false; end;
  end;
end;
invariant "all are some" all -> any;
