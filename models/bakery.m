-- Lamport's bakery lock.  A customer draws a ticket one higher than all it
-- sees, then lets everybody with a smaller ticket go first; ties are broken by
-- the customer's number, which is why the processes are not interchangeable.
-- Tickets are read one at a time, so two customers may well draw the same.
--
-- Ticket numbers grow without limit.  An assumption cuts the state space: runs
-- are followed only as long as all tickets stay within LIMIT.
--
-- expect: verified
-- states: 20199
-- transitions: 48059
-- depth: 95
-- exit: 0
-- scale: LIMIT=12 states 62889 transitions 146354
-- scale: N=4 states 980196 transitions 3043636
-- scale: N=4 LIMIT=8 states 2531334 transitions 7663222
-- scale: N=4 LIMIT=40

const
  N:     3;
  LIMIT: 5;                      -- the largest ticket looked at

type
  Customer: 0..N - 1;
  Position: 0..N;                -- where a scan over the customers stands
  Ticket:   0..LIMIT + 1;        -- 0: no ticket
  Place:    enum { Outside, Drawing, Waiting, Served };

var
  place:   array [Customer] of Place;
  drawing: array [Customer] of boolean;     -- the doorway is occupied
  ticket:  array [Customer] of Ticket;
  largest: array [Customer] of Ticket;      -- seen so far, while drawing
  next:    array [Customer] of Position;    -- whom to look at next

function goesFirst(a, b: Customer): boolean;
begin
  return ticket[a] != 0
    & (ticket[a] < ticket[b] | (ticket[a] = ticket[b] & a < b));
end;

ruleset c: Customer do

  rule "enter the doorway"
    place[c] = Outside
  ==>
  begin
    drawing[c] := true;
    largest[c] := 0;
    next[c] := 0;
    place[c] := Drawing;
  end;

  rule "read a ticket"
    place[c] = Drawing & next[c] < N
  ==>
  begin
    if ticket[next[c]] > largest[c] then
      largest[c] := ticket[next[c]];
    end;
    next[c] := next[c] + 1;
  end;

  rule "draw a ticket"
    place[c] = Drawing & next[c] = N & drawing[c] & ticket[c] = 0
  ==>
  begin
    ticket[c] := largest[c] + 1;
  end;

  rule "leave the doorway"
    place[c] = Drawing & ticket[c] != 0
  ==>
  begin
    drawing[c] := false;
    largest[c] := 0;
    next[c] := 0;
    place[c] := Waiting;
  end;

  rule "let the next one pass"
    place[c] = Waiting & next[c] < N
    & (next[c] = c | (!drawing[next[c]] & !goesFirst(next[c], c)))
  ==>
  begin
    next[c] := next[c] + 1;
  end;

  rule "be served"
    place[c] = Waiting & next[c] = N
  ==>
  begin
    next[c] := 0;
    place[c] := Served;
  end;

  rule "leave"
    place[c] = Served
  ==>
  begin
    ticket[c] := 0;
    place[c] := Outside;
  end;

end;

startstate "shop empty"
begin
  for c: Customer do
    place[c] := Outside;
    drawing[c] := false;
    ticket[c] := 0;
    largest[c] := 0;
    next[c] := 0;
  end;
end;

assume "tickets stay within the limit"
  forall c: Customer do ticket[c] <= LIMIT end;

invariant "one customer is served at a time"
  forall a: Customer do
    forall b: Customer do
      place[a] = Served & place[b] = Served -> a = b
    end
  end;

invariant "the served one has the smallest ticket"
  forall a: Customer do
    forall b: Customer do
      place[a] = Served & place[b] = Waiting -> !goesFirst(b, a)
    end
  end;
