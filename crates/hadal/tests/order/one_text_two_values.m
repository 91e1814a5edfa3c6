-- Two comparisons of the loop variable have the same text, `p = x`, and different values of x. Each
-- of them has one winner, but there are two winners in all, and the later one stays.
--
-- order: dependent
-- off: violated
const N: 3; BOOT: 200;
type Proc: scalarset(N);
var
  boot: 0..BOOT;
  age: array [Proc] of 0..2;
  owner: Proc;
startstate boot := 0; for p: Proc do age[p] := 0; end; undefine owner; end;
rule "boot" boot < BOOT ==> boot := boot + 1; end;
ruleset p: Proc do
  rule "grow" boot = BOOT & isundefined(owner) & age[p] < 2 ==> age[p] := age[p] + 1; end;
end;
ruleset a: Proc; b: Proc do
  rule "grant" boot = BOOT & isundefined(owner) & age[a] = 1 & age[b] = 2 ==>
    var x: Proc;
  begin
    for p: Proc do
      x := a; if p = x then owner := p; end;
      x := b; if p = x then owner := p; end;
    end;
  end;
end;
rule "restart" isundefined(owner) & forall p: Proc do age[p] = 2 end ==>
  for p: Proc do age[p] := 0; end;
end;
rule "return" !isundefined(owner) ==> undefine owner; end;
invariant "the older one wins" !isundefined(owner) -> age[owner] = 2;
