-- A recursive function walks along links and tries them in the order of a loop; it returns the
-- first leaf that it finds.
--
-- order: dependent
-- off: violated
const N: 3;
type Node: scalarset(N);
var
  child: array [Node] of array [Node] of boolean;
  rotten: array [Node] of boolean;
  root, leaf: Node;
function find(n: Node): Node;
begin
  for m: Node do
    if child[n][m] then return find(m); end;
  end;
  return n;
end;
ruleset r: Node do
  startstate
    for n: Node; m: Node do child[n][m] := false; end;
    for n: Node do rotten[n] := false; end;
    root := r;
    undefine leaf;
  end;
end;
ruleset n: Node do
  rule "grow" isundefined(leaf) & n != root & !child[root][n] ==> child[root][n] := true; end;
  rule "rot" isundefined(leaf) & child[root][n] & !exists m: Node do rotten[m] end ==>
    rotten[n] := true;
  end;
  rule "fall" child[root][n] & rotten[n] & isundefined(leaf) ==>
    child[root][n] := false; rotten[n] := false;
  end;
end;
rule "climb" isundefined(leaf) ==> leaf := find(root); end;
rule "descend" !isundefined(leaf) ==> undefine leaf; end;
invariant "sound leaves first"
  isundefined(leaf) | !rotten[leaf] | forall n: Node do child[root][n] -> rotten[n] end;
