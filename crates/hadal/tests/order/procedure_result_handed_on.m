-- A procedure reports the first element through a `var` parameter that it hands on to a second
-- procedure before it returns from within the loop.
--
-- order: dependent
-- off: violated
const BOOT: 200;
type Proc: scalarset(2);
var
  boot: 0..BOOT;
  ready: array [Proc] of boolean;
  chosen, owner: Proc;
procedure set(var out: Proc; p: Proc); begin out := p; end;
procedure find(var out: Proc);
begin
  for p: Proc do
    if ready[p] then set(out, p); return; end;
  end;
  undefine out;
end;
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
  var found: Proc;
begin
  find(found); chosen := found;
end;
rule "reboot" boot = BOOT & !isundefined(chosen) ==>
  boot := 0; undefine chosen; undefine owner;
end;
invariant "the owner is not chosen" isundefined(chosen) | chosen != owner;
