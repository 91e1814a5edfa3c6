-- The MCS queue lock of Mellor-Crummey and Scott.  Waiting threads form a
-- linked list; each spins on a flag in its own record.  Acquiring swaps the
-- thread into the tail pointer and, if there was a predecessor, hooks itself
-- behind it.  Releasing hands the lock to the successor, or, if none is
-- hooked, tries to swing the tail back to nil by compare-and-swap; when that
-- fails, a successor is about to hook itself and is waited for.
--
-- Nil pointers are undefined values here.  Threads are a scalarset.
--
-- expect: verified
-- states: 142
-- transitions: 425
-- depth: 17
-- exit: 0
-- scale: N=6 states 658 transitions 2757

const
  N: 4;

type
  Thread: scalarset(N);
  Line: enum {
    Away,
    SwapTail,          -- about to enqueue
    HookUp,            -- about to tell the predecessor
    Spin,
    Critical,
    CheckNext,         -- releasing: is anybody hooked behind me?
    SwingTail,         -- nobody: try to empty the queue
    AwaitNext,         -- somebody is about to hook up
    HandOver
  };

var
  line: array [Thread] of Line;
  next: array [Thread] of Thread;       -- undefined: nil
  busy: array [Thread] of boolean;      -- the flag spun on
  pred: array [Thread] of Thread;       -- local: what the swap returned
  tail: Thread;                         -- undefined: nil

function holdsLock(t: Thread): boolean;
begin
  switch line[t]
    case Critical, CheckNext, SwingTail, AwaitNext, HandOver:
      return true;
    else
      return false;
  end;
end;

ruleset t: Thread do

  rule "want the lock"
    line[t] = Away
  ==>
  begin
    undefine next[t];
    line[t] := SwapTail;
  end;

  rule "swap into the tail"
    line[t] = SwapTail
  ==>
  begin
    if isundefined(tail) then
      line[t] := Critical;
    else
      pred[t] := tail;
      busy[t] := true;
      line[t] := HookUp;
    end;
    tail := t;
  end;

  rule "hook up behind the predecessor"
    line[t] = HookUp
  ==>
  begin
    next[pred[t]] := t;
    undefine pred[t];
    line[t] := Spin;
  end;

  rule "stop spinning"
    line[t] = Spin & !busy[t]
  ==>
  begin
    line[t] := Critical;
  end;

  rule "start to release"
    line[t] = Critical
  ==>
  begin
    line[t] := CheckNext;
  end;

  rule "look for a successor"
    line[t] = CheckNext
  ==>
  begin
    line[t] := (isundefined(next[t]) ? SwingTail : HandOver);
  end;

  rule "compare and swap the tail"
    line[t] = SwingTail
  ==>
  begin
    if tail = t then
      undefine tail;
      line[t] := Away;
    else
      line[t] := AwaitNext;
    end;
  end;

  rule "successor has hooked up"
    line[t] = AwaitNext & !isundefined(next[t])
  ==>
  begin
    line[t] := HandOver;
  end;

  rule "hand the lock over"
    line[t] = HandOver
  ==>
  begin
    busy[next[t]] := false;
    undefine next[t];
    line[t] := Away;
  end;

end;

startstate "free"
begin
  for t: Thread do
    line[t] := Away;
    busy[t] := false;
  end;
  undefine next;
  undefine pred;
  undefine tail;
end;

invariant "mutual exclusion"
  forall t: Thread do
    forall u: Thread do
      holdsLock(t) & holdsLock(u) -> t = u
    end
  end;

invariant "an empty queue has no holder"
  isundefined(tail) -> forall t: Thread do !holdsLock(t) end;

liveness "the lock can always become free"
  isundefined(tail);
