-- A cursor moves from element to element while an alias of the cell under it is written: a linked
-- list in the order of the loop.
--
-- order: dependent
-- off: verified
const N: 3;
type Node: scalarset(N);
var
  next: array [Node] of Node;
  head: Node;
startstate undefine next; undefine head; end;
ruleset h: Node do
  rule "link all" isundefined(head) ==>
    var cursor: Node;
  begin
    head := h;
    cursor := h;
    for n: Node do
      if n != h then
        alias cell: next[cursor] do cell := n; end;
        cursor := n;
      end;
    end;
  end;
end;
rule "advance" !isundefined(head) & !isundefined(next[head]) ==> head := next[head]; end;
rule "drop" !isundefined(head) & isundefined(next[head]) ==> undefine next; undefine head; end;
invariant "no node follows itself"
  forall n: Node do isundefined(next[n]) | next[n] != n end;
