-- After two removals a new message goes to the first free slot, so an old index may or may not
-- mean it when it is used to remove once more. Where it does not, that is a fault.
--
-- order: dependent
-- off: violated
const N: 2;
type Node: scalarset(N);
var
  box: multiset [2] of Node;
  hot: array [Node] of boolean;
startstate
  undefine box;
  for n: Node do hot[n] := false; end;
end;
ruleset n: Node do
  rule "heat" multisetcount(i: box, true) = 0 ==> hot[n] := !hot[n]; end;
  rule "put" multisetcount(i: box, box[i] = n) = 0 & multisetcount(i: box, true) < 2 ==>
    multisetadd(n, box);
  end;
end;
choose i: box do
  choose j: box do
    rule "exchange" box[i] != box[j] & hot[box[i]] & !hot[box[j]] ==>
      var kept: Node;
    begin
      kept := box[i];
      multisetremove(i, box);
      multisetremove(j, box);
      multisetadd(kept, box);
      multisetremove(j, box);
    end;
  end;
  rule "take" multisetcount(k: box, true) < 2 | forall n: Node; m: Node do hot[n] = hot[m] end ==>
    multisetremove(i, box);
  end;
end;
invariant "box is small" multisetcount(i: box, true) <= 2;
