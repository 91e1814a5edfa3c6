-- The least loaded server is found by comparing with the best so far; of two that are equal the
-- later one wins, and they differ in other data.
--
-- order: dependent
-- off: violated
const N: 3;
type Server: scalarset(N);
  Info: record load: 0..2; draining: boolean; end;
var info: array [Server] of Info; best: Server;
startstate
  for s: Server do info[s].load := 0; info[s].draining := false; end;
  undefine best;
end;
ruleset s: Server do
  rule "load" isundefined(best) & info[s].load < 2 ==> info[s].load := info[s].load + 1; end;
  rule "drain" isundefined(best) & !exists t: Server do info[t].draining end ==>
    info[s].draining := true;
  end;
end;
rule "elect" isundefined(best) ==>
  for s: Server do
    if isundefined(best) then best := s;
    elsif info[s].load <= info[best].load then best := s;
    end;
  end;
end;
rule "restart" !isundefined(best) ==>
  for s: Server do info[s].load := 0; info[s].draining := false; end;
  undefine best;
end;
invariant "a draining server is chosen only if it is the only one"
  isundefined(best) | !info[best].draining
  | forall s: Server do s = best | info[s].load > info[best].load end;
