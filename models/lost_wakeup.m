-- A lost wakeup.  The consumer looks into the buffer, finds it empty and goes
-- to sleep, in two steps.  The producer wakes a sleeping consumer whenever it
-- puts an item into an empty buffer.  When the item arrives between the look
-- and the sleep, the wakeup goes nowhere; from then on the buffer is never
-- empty again and no further wakeup is sent.
--
-- The system does not stop: the producer goes on and discards what does not
-- fit.  So this is no deadlock but a violation of the liveness property that
-- something can always be consumed again.
--
-- expect: violated
-- exit: 1
-- violation: liveness "something can be consumed again" depth 4

const
  CAPACITY: 2;

type
  Count:    0..CAPACITY;
  Consumer: enum { Looking, Drowsy, Asleep, Consuming };
  Producer: enum { Making, Storing, Notifying };

var
  stored:   Count;
  consumer: Consumer;
  producer: Producer;

rule "make an item"
  producer = Making
==>
begin
  producer := Storing;
end;

rule "store the item"
  producer = Storing
==>
begin
  if stored = CAPACITY then
    producer := Making;                  -- no room: discard it
  else
    stored := stored + 1;
    producer := (stored = 1 ? Notifying : Making);
  end;
end;

rule "wake the consumer"
  producer = Notifying
==>
begin
  if consumer = Asleep then
    consumer := Looking;
  end;
  producer := Making;
end;

rule "look for an item"
  consumer = Looking
==>
begin
  if stored = 0 then
    consumer := Drowsy;
  else
    stored := stored - 1;
    consumer := Consuming;
  end;
end;

rule "fall asleep"
  consumer = Drowsy
==>
begin
  consumer := Asleep;
end;

rule "consume the item"
  consumer = Consuming
==>
begin
  consumer := Looking;
end;

startstate "nothing stored"
begin
  stored := 0;
  consumer := Looking;
  producer := Making;
end;

liveness "something can be consumed again"
  consumer = Consuming;
