-- A readers-writer lock with writer preference.  Any number of readers may
-- share the resource, a writer needs it alone.  As soon as a writer waits, no
-- further reader is let in, so that a stream of readers cannot starve it; the
-- writer is served when the last reader has gone.  The lock is a counter of
-- active readers, a flag for an active writer and a counter of waiting
-- writers, the way it is implemented under one short mutex.
--
-- Two liveness properties say that, from every reachable state, a state can
-- be reached where all readers are inside, and one where a writer is.
--
-- expect: verified
-- states: 102
-- transitions: 558
-- depth: 13
-- exit: 0

const
  READERS: 5;
  WRITERS: 3;

type
  Reader:    scalarset(READERS);
  Writer:    scalarset(WRITERS);
  Situation: enum { Outside, Asking, Inside };

var
  reader:         array [Reader] of Situation;
  writer:         array [Writer] of Situation;
  activeReaders:  0..READERS;
  writerActive:   boolean;
  waitingWriters: 0..WRITERS;

ruleset r: Reader do

  rule "reader asks"
    reader[r] = Outside
  ==>
  begin
    reader[r] := Asking;
  end;

  rule "reader enters"
    reader[r] = Asking & !writerActive & waitingWriters = 0
  ==>
  begin
    activeReaders := activeReaders + 1;
    reader[r] := Inside;
  end;

  rule "reader leaves"
    reader[r] = Inside
  ==>
  begin
    activeReaders := activeReaders - 1;
    reader[r] := Outside;
  end;

end;

ruleset w: Writer do

  rule "writer asks"
    writer[w] = Outside
  ==>
  begin
    waitingWriters := waitingWriters + 1;
    writer[w] := Asking;
  end;

  rule "writer enters"
    writer[w] = Asking & !writerActive & activeReaders = 0
  ==>
  begin
    waitingWriters := waitingWriters - 1;
    writerActive := true;
    writer[w] := Inside;
  end;

  rule "writer leaves"
    writer[w] = Inside
  ==>
  begin
    writerActive := false;
    writer[w] := Outside;
  end;

end;

startstate "resource free"
begin
  for r: Reader do
    reader[r] := Outside;
  end;
  for w: Writer do
    writer[w] := Outside;
  end;
  activeReaders := 0;
  writerActive := false;
  waitingWriters := 0;
end;

invariant "a writer is alone"
  forall w: Writer do
    writer[w] = Inside ->
      (activeReaders = 0
       & forall v: Writer do v != w -> writer[v] != Inside end)
  end;

invariant "the flag tells whether a writer is inside"
  writerActive = exists w: Writer do writer[w] = Inside end;

liveness "all readers can share the resource"
  forall r: Reader do reader[r] = Inside end;

liveness "a writer can get in"
  exists w: Writer do writer[w] = Inside end;
