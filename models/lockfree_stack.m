-- Treiber's lock-free stack and the ABA problem.  A pop reads the top, reads
-- its successor, and swings the top to the successor by compare-and-swap.  The
-- comparison succeeds when the top is the same cell again, even if the stack
-- has changed in between: the cell may have been popped, other cells popped
-- too, and the first one pushed back.  The successor read before is then out
-- of date, and the stack gets a cell that a thread holds in its hands.
--
-- Cells are reused at once, which is what makes the attack possible.  The
-- ghost array `held` marks the cells that are out of the stack.
--
-- expect: violated
-- exit: 1
-- violation: invariant "the top of the stack is in nobody's hands" depth 14

const
  THREADS: 2;
  CELLS:   3;

type
  Thread: scalarset(THREADS);
  Cell:   1..CELLS;
  Link:   0..CELLS;                      -- 0: end of the stack
  Line:   enum { Resting, ReadTop, ReadNext, SwapPop, Holding, LinkUp, SwapPush };

var
  top:    Link;
  next:   array [Cell] of Link;
  line:   array [Thread] of Line;
  oldTop: array [Thread] of Link;        -- as read
  newTop: array [Thread] of Link;        -- to be written by the swap
  hand:   array [Thread] of Link;        -- the cell held, or 0
  held:   array [Cell] of boolean;       -- ghost

ruleset t: Thread do

  rule "begin to pop"
    line[t] = Resting & hand[t] = 0
  ==>
  begin
    line[t] := ReadTop;
  end;

  rule "read the top"
    line[t] = ReadTop & top != 0
  ==>
  begin
    oldTop[t] := top;
    line[t] := ReadNext;
  end;

  rule "find the stack empty"
    line[t] = ReadTop & top = 0
  ==>
  begin
    line[t] := Resting;
  end;

  rule "read the successor"
    line[t] = ReadNext
  ==>
  begin
    newTop[t] := next[oldTop[t]];
    line[t] := SwapPop;
  end;

  rule "swap for the successor"
    line[t] = SwapPop
  ==>
  begin
    if top = oldTop[t] then
      assert !held[top] "a cell is taken that somebody holds";
      hand[t] := top;
      held[top] := true;
      top := newTop[t];
      line[t] := Holding;
    else
      line[t] := ReadTop;
    end;
    oldTop[t] := 0;
    newTop[t] := 0;
  end;

  rule "begin to push"
    line[t] = Holding
  ==>
  begin
    line[t] := LinkUp;
  end;

  rule "link to the top"
    line[t] = LinkUp
  ==>
  begin
    oldTop[t] := top;
    next[hand[t]] := top;
    line[t] := SwapPush;
  end;

  rule "swap for the new cell"
    line[t] = SwapPush
  ==>
  begin
    if top = oldTop[t] then
      top := hand[t];
      held[hand[t]] := false;
      hand[t] := 0;
      line[t] := Resting;
    else
      line[t] := LinkUp;
    end;
    oldTop[t] := 0;
  end;

  -- A thread may put the cell aside and pop another one.
  rule "put the cell aside"
    line[t] = Holding
  ==>
  begin
    hand[t] := 0;
    line[t] := Resting;
  end;

end;

-- Cells put aside go back in one step, to keep the model small.
ruleset c: Cell do
  rule "return a cell"
    held[c] & forall t: Thread do hand[t] != c end
  ==>
  begin
    next[c] := top;
    top := c;
    held[c] := false;
  end;
end;

startstate "all cells stacked"
begin
  top := CELLS;
  for c: Cell do
    next[c] := c - 1;
    held[c] := false;
  end;
  for t: Thread do
    line[t] := Resting;
    oldTop[t] := 0;
    newTop[t] := 0;
    hand[t] := 0;
  end;
end;

invariant "the top of the stack is in nobody's hands"
  top != 0 -> !held[top];
