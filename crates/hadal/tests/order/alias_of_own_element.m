-- Each pass works on its own element through an alias.
--
-- order: innocent
-- off: verified
-- orbits: 20
const N: 3;
type Proc: scalarset(N);
  Info: record age: 0..2; urgent: boolean; end;
var info: array [Proc] of Info;
startstate for p: Proc do info[p].age := 0; info[p].urgent := false; end; end;
rule "grow older"
  for p: Proc do
    alias me: info[p] do
      if me.age < 2 then me.age := me.age + 1; else me.urgent := true; end;
    end;
  end;
end;
ruleset p: Proc do
  rule "serve" info[p].age > 0 ==> alias me: info[p] do me.age := 0; me.urgent := false; end; end;
end;
invariant "urgent ones are old" forall p: Proc do info[p].urgent -> info[p].age = 2 end;
