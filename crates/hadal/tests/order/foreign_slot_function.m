-- A function compares two bags slot by slot: the index of one is used on the other through `var`
-- parameters.
--
-- order: dependent
-- off: violated
const N: 3;
type
  Node: scalarset(N);
  Bag: multiset [2] of Node;
var
  sent, got: Bag;
  lag: 0..2;
function aligned(var a: Bag; var b: Bag): 0..2;
begin
  return multisetcount(i: a, !isundefined(b[i]) & a[i] = b[i]);
end;
startstate undefine sent; undefine got; lag := 0; end;
ruleset n: Node do
  rule "send" multisetcount(i: sent, true) < 2 & multisetcount(i: sent, sent[i] = n) = 0 ==>
    multisetadd(n, sent);
  end;
  rule "receive" multisetcount(i: got, true) = 0 & multisetcount(i: sent, sent[i] = n) = 1 ==>
    multisetadd(n, got);
  end;
end;
rule "compare" lag := aligned(sent, got); end;
rule "reset" multisetcount(i: sent, true) = 2 ==> undefine sent; undefine got; lag := 0; end;
invariant "what was received was sent"
  multisetcount(i: sent, true) < 2 | multisetcount(i: got, true) = 0 | aligned(sent, got) = 1;
