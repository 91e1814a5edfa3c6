-- Leader election in a unidirectional ring after Chang and Roberts.  Stations
-- have distinct numbers, laid out around the ring in any order: all layouts
-- are explored.  A station may wake up at any time and send its number to the
-- right.  A station passes on a larger number than its own, swallows a smaller
-- one, and knows it is the leader when its own number comes back; it then sends
-- the news around.  Links are first-in first-out queues.
--
-- The number of layouts and the queues make the model grow very fast with N.
-- When the news has gone around, the ring retires and a new layout is chosen.
--
-- expect: verified
-- states: 2073
-- transitions: 5152
-- depth: 14
-- exit: 0
-- scale: N=5 states 30931 transitions 96175
-- scale: N=6 states 561799 transitions 2097588
-- scale: N=7

const
  N: 4;                          -- stations

type
  Station: 0..N - 1;
  Number:  1..N;
  Length:  0..N;
  Role:    enum { Unnumbered, Asleep, Candidate, Follower, Leader };
  News:    enum { Bid, Elected };

  Packet: record
    news:   News;
    number: Number;
  end;
  Link: record
    length: Length;
    packet: array [Station] of Packet;   -- the first `length` are in use
  end;

var
  role:   array [Station] of Role;
  number: array [Station] of Number;
  leader: array [Station] of Number;     -- undefined until known
  link:   array [Station] of Link;       -- link s leads to station s

function right(s: Station): Station;
begin
  return (s + 1) % N;
end;

procedure send(s: Station; news: News; n: Number);
begin
  alias l: link[right(s)] do
    assert l.length < N "link overflows";
    l.packet[l.length].news := news;
    l.packet[l.length].number := n;
    l.length := l.length + 1;
  end;
end;

procedure removeFirst(s: Station);
begin
  alias l: link[s] do
    for i: Station do
      if i + 1 < l.length then
        l.packet[i] := l.packet[i + 1];
      end;
    end;
    l.length := l.length - 1;
    undefine l.packet[l.length];
  end;
end;

procedure reset();
begin
  for s: Station do
    role[s] := Unnumbered;
    link[s].length := 0;
    undefine link[s].packet;
  end;
  undefine number;
  undefine leader;
end;

ruleset s: Station; n: Number do
  rule "lay out a number"
    role[s] = Unnumbered
    & (forall t: Station do t < s -> role[t] = Asleep end)
    & (forall t: Station do t < s -> number[t] != n end)
  ==>
  begin
    number[s] := n;
    role[s] := Asleep;
  end;
end;

ruleset s: Station do

  rule "wake up and bid"
    role[s] = Asleep & role[N - 1] != Unnumbered
  ==>
  begin
    role[s] := Candidate;
    send(s, Bid, number[s]);
  end;

  rule "judge a bid"
    link[s].length > 0 & link[s].packet[0].news = Bid
  ==>
  var
    bid: Number;
  begin
    bid := link[s].packet[0].number;
    removeFirst(s);
    if bid > number[s] then
      role[s] := Follower;
      send(s, Bid, bid);
    elsif bid = number[s] then
      role[s] := Leader;
      leader[s] := number[s];
      send(s, Elected, number[s]);
    else                                  -- swallowed: my bid is better
      if role[s] = Asleep then
        role[s] := Candidate;
        send(s, Bid, number[s]);
      end;
    end;
  end;

  rule "hear who was elected"
    link[s].length > 0 & link[s].packet[0].news = Elected
  ==>
  var
    winner: Number;
  begin
    winner := link[s].packet[0].number;
    removeFirst(s);
    if role[s] != Leader then
      leader[s] := winner;
      send(s, Elected, winner);
    end;
  end;

end;

rule "retire"
  forall s: Station do !isundefined(leader[s]) & link[s].length = 0 end
==>
begin
  reset();
end;

startstate "no numbers yet"
begin
  reset();
end;

invariant "at most one leader"
  forall s: Station do
    forall t: Station do
      role[s] = Leader & role[t] = Leader -> s = t
    end
  end;

invariant "the leader has the largest number"
  forall s: Station do
    role[s] = Leader -> number[s] = N
  end;

invariant "everybody who knows knows the right one"
  forall s: Station do
    !isundefined(leader[s]) -> leader[s] = N
  end;
