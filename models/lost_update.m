-- A lost update.  Tellers book deposits by reading the balance, adding to it and
-- writing it back, without a lock.  Two tellers that read the same balance lose
-- one of the deposits.  An assertion at the evening's audit compares the balance
-- with the sum of all deposits.
--
-- expect: violated
-- exit: 1
-- violation: assertion "audit and start the next day" depth 12

const
  TELLERS:  3;
  DEPOSITS: 2;                           -- per teller

type
  Teller: scalarset(TELLERS);
  Left:   0..DEPOSITS;
  Sum:    0..TELLERS * DEPOSITS;
  Line:   enum { Ready, Booking };

var
  balance: Sum;
  line:    array [Teller] of Line;
  seen:    array [Teller] of Sum;        -- the balance as read
  left:    array [Teller] of Left;       -- deposits still to book

ruleset t: Teller do

  rule "read the balance"
    line[t] = Ready & left[t] > 0
  ==>
  begin
    seen[t] := balance;
    line[t] := Booking;
  end;

  rule "write the balance"
    line[t] = Booking
  ==>
  begin
    balance := seen[t] + 1;
    undefine seen[t];
    left[t] := left[t] - 1;
    line[t] := Ready;
  end;

end;

rule "audit and start the next day"
  forall t: Teller do left[t] = 0 & line[t] = Ready end
==>
begin
  assert balance = TELLERS * DEPOSITS "money is missing";
  balance := 0;
  for t: Teller do
    left[t] := DEPOSITS;
  end;
end;

startstate "morning"
begin
  balance := 0;
  undefine seen;
  for t: Teller do
    line[t] := Ready;
    left[t] := DEPOSITS;
  end;
end;

invariant "the balance is never more than was deposited"
  balance <= TELLERS * DEPOSITS;
