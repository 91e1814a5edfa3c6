-- Dekker's algorithm, the first correct solution of mutual exclusion for two
-- processes that only read and write shared memory.  A process raises its
-- flag; if the other flag is up as well, the turn decides who insists and who
-- lowers its flag and waits.  Every read and every write is a step of its own.
--
-- Besides mutual exclusion, a liveness property states that each process can
-- always get to its critical section again.
--
-- expect: verified
-- states: 122
-- transitions: 230
-- depth: 17
-- exit: 0

const
  PROCESSES: 2;

type
  Process: 0..PROCESSES - 1;
  Line: enum {
    NonCritical,      -- may stay here forever
    RaiseFlag,
    TestOther,        -- is the other one interested?
    TestTurn,         -- whose turn is it to insist?
    LowerFlag,
    AwaitTurn,
    Critical,
    PassTurn,
    Withdraw
  };

var
  line: array [Process] of Line;
  flag: array [Process] of boolean;
  turn: Process;

ruleset me: Process do
  alias other: 1 - me do

    rule "become interested"
      line[me] = NonCritical
    ==>
    begin
      line[me] := RaiseFlag;
    end;

    rule "raise the flag"
      line[me] = RaiseFlag
    ==>
    begin
      flag[me] := true;
      line[me] := TestOther;
    end;

    rule "look at the other flag"
      line[me] = TestOther
    ==>
    begin
      line[me] := (flag[other] ? TestTurn : Critical);
    end;

    rule "look at the turn"
      line[me] = TestTurn
    ==>
    begin
      line[me] := (turn = me ? TestOther : LowerFlag);
    end;

    rule "lower the flag"
      line[me] = LowerFlag
    ==>
    begin
      flag[me] := false;
      line[me] := AwaitTurn;
    end;

    rule "my turn has come"
      line[me] = AwaitTurn & turn = me
    ==>
    begin
      line[me] := RaiseFlag;
    end;

    rule "leave the critical section"
      line[me] = Critical
    ==>
    begin
      line[me] := PassTurn;
    end;

    rule "pass the turn"
      line[me] = PassTurn
    ==>
    begin
      turn := other;
      line[me] := Withdraw;
    end;

    rule "withdraw"
      line[me] = Withdraw
    ==>
    begin
      flag[me] := false;
      line[me] := NonCritical;
    end;

  end;
end;

ruleset first: Process do
  startstate "nobody is interested"
  begin
    for p: Process do
      line[p] := NonCritical;
      flag[p] := false;
    end;
    turn := first;
  end;
end;

invariant "mutual exclusion"
  !(forall p: Process do line[p] = Critical end);

invariant "only a raised flag gets in"
  forall p: Process do
    line[p] = Critical -> flag[p]
  end;

ruleset p: Process do
  liveness "can always enter again"
    line[p] = Critical;
end;
