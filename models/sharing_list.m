-- A distributed linked list, as scalable cache-coherence schemes use it to
-- keep track of the sharers of a line.  The memory only knows the head; every
-- sharer knows the next one.  A node joins in front: the memory makes it the new
-- head and tells it the old one.  A node may leave while it is the head; if
-- somebody has joined in front of it meanwhile, the memory refuses.
--
-- A pointer is a union of the interchangeable nodes and the single memory,
-- which also marks the end of the list: following the pointers leads from the
-- memory around to the memory again.  The array of pointers is indexed by the
-- union.
--
-- expect: verified
-- states: 1069
-- transitions: 4276
-- depth: 24
-- exit: 0

const
  NODES: 4;

type
  Node:    scalarset(NODES);
  Home:    enum { Memory };
  Pointer: union { Node, Home };
  Steps:   0..NODES + 1;
  Status:  enum { Absent, Joining, Listed, Leaving };
  ToHome:  enum { NoRequest, Join, Leave };
  ToNode:  enum { NoAnswer, Welcome, Dismissed, Refused };

  Request: record
    kind: ToHome;
    next: Pointer;                       -- Leave: who comes after me
  end;
  Answer: record
    kind: ToNode;
    next: Pointer;                       -- Welcome: the old head
  end;

var
  next:    array [Pointer] of Pointer;   -- of the memory: the head
  status:  array [Node] of Status;
  request: array [Node] of Request;
  answer:  array [Node] of Answer;

-- The number of nodes on the way around, up to one whose pointer is not known
-- yet; more than NODES if the way never ends.
function walk(): Steps;
var
  at:    Pointer;
  steps: Steps;
begin
  at := next[Memory];
  steps := 0;
  while ismember(at, Node) & steps <= NODES do
    steps := steps + 1;
    if isundefined(next[at]) then
      return steps;
    end;
    at := next[at];
  end;
  return steps;
end;

ruleset n: Node do

  rule "ask to join"
    status[n] = Absent
  ==>
  begin
    status[n] := Joining;
    request[n].kind := Join;
  end;

  rule "ask to leave"
    status[n] = Listed
  ==>
  begin
    status[n] := Leaving;
    request[n].kind := Leave;
    request[n].next := next[n];
  end;

  rule "memory admits"
    request[n].kind = Join
  ==>
  begin
    answer[n].kind := Welcome;
    answer[n].next := next[Memory];
    next[Memory] := n;
    request[n].kind := NoRequest;
  end;

  rule "memory lets go or refuses"
    request[n].kind = Leave
  ==>
  begin
    if next[Memory] = n then
      next[Memory] := request[n].next;
      answer[n].kind := Dismissed;
    else
      answer[n].kind := Refused;
    end;
    undefine request[n].next;
    request[n].kind := NoRequest;
  end;

  rule "hear the answer"
    answer[n].kind != NoAnswer
  ==>
  begin
    switch answer[n].kind
      case Welcome:
        next[n] := answer[n].next;
        undefine answer[n].next;
        status[n] := Listed;
      case Dismissed:
        undefine next[n];
        status[n] := Absent;
      case Refused:
        status[n] := Listed;
    end;
    answer[n].kind := NoAnswer;
  end;

end;

startstate "empty list"
begin
  undefine next;
  next[Memory] := Memory;
  for n: Node do
    status[n] := Absent;
    undefine request[n];
    request[n].kind := NoRequest;
    undefine answer[n];
    answer[n].kind := NoAnswer;
  end;
end;

invariant "the list has an end"
  walk() <= NODES;

invariant "no two pointers lead to the same node"
  forall n: Node do
    status[n] = Listed & ismember(next[n], Node) ->
      (next[Memory] != next[n]
       & forall m: Node do
           m != n & status[m] = Listed -> next[m] != next[n]
         end)
  end;

invariant "an empty list has no sharers"
  next[Memory] = Memory -> forall n: Node do status[n] != Listed end;

invariant "no node points to itself"
  forall p: Pointer do
    !isundefined(next[p]) & next[p] = p -> ismember(p, Home)
  end;
