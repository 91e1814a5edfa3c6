-- A lease server on a network that keeps no order.  Clients ask for the lease,
-- may repeat the question when the answer is slow, may give up, hold the lease
-- for a while and hand it back.  Repeated questions come back to haunt the
-- system: the server grants a lease to a client that has long been served, and
-- the client must then return it at once.
--
-- Messages in flight form a multiset: identical ones are kept, their order is
-- not.  Conservation is the key property: at any time the lease is at exactly
-- one place, be it the server, a client or a message.
--
-- expect: verified
-- states: 230
-- transitions: 996
-- depth: 22
-- exit: 0
-- scale: CLIENTS=4 states 525 transitions 2856

const
  CLIENTS: 3;
  REPEATS: 2;                            -- questions in flight per client
  NET:     CLIENTS * REPEATS + 1;

type
  Client:   scalarset(CLIENTS);
  Activity: enum { Idle, Asking, Holding };
  Kind:     enum { Question, Lease, Handback };

  Message: record
    kind:   Kind;
    client: Client;                      -- sender or receiver
  end;

var
  network:  multiset [NET] of Message;
  activity: array [Client] of Activity;
  atServer: boolean;

procedure send(k: Kind; c: Client);
var
  message: Message;
begin
  message.kind := k;
  message.client := c;
  multisetadd(message, network);
end;

ruleset c: Client do

  rule "ask for the lease"
    activity[c] = Idle
    & multisetcount(m: network,
        network[m].kind = Question & network[m].client = c) < REPEATS
  ==>
  begin
    activity[c] := Asking;
    send(Question, c);
  end;

  rule "ask again"
    activity[c] = Asking
    & multisetcount(m: network,
        network[m].kind = Question & network[m].client = c) < REPEATS
  ==>
  begin
    send(Question, c);
  end;

  -- A client that restarts gets a new address: questions under the old one
  -- are thrown away by the network.
  rule "restart"
    activity[c] = Asking
  ==>
  begin
    activity[c] := Idle;
    multisetremovepred(m: network,
      network[m].kind = Question & network[m].client = c);
  end;

  rule "hand the lease back"
    activity[c] = Holding
  ==>
  begin
    activity[c] := Idle;
    send(Handback, c);
  end;

end;

choose m: network do

  rule "server grants the lease"
    network[m].kind = Question & atServer
  ==>
  var
    asker: Client;
  begin
    asker := network[m].client;
    multisetremove(m, network);
    atServer := false;
    send(Lease, asker);
  end;

  rule "client receives the lease"
    network[m].kind = Lease
  ==>
  var
    receiver: Client;
  begin
    receiver := network[m].client;
    multisetremove(m, network);
    if activity[receiver] = Asking then
      activity[receiver] := Holding;
    else
      send(Handback, receiver);          -- the answer to an old question
    end;
  end;

  rule "server takes the lease back"
    network[m].kind = Handback
  ==>
  begin
    multisetremove(m, network);
    atServer := true;
  end;

end;

startstate "lease at the server"
begin
  undefine network;
  for c: Client do
    activity[c] := Idle;
  end;
  atServer := true;
end;

invariant "at most one client holds the lease"
  forall c: Client do
    forall d: Client do
      activity[c] = Holding & activity[d] = Holding -> c = d
    end
  end;

invariant "the lease is in one place"
  (atServer ? 1 : 0)
  + ((exists c: Client do activity[c] = Holding end) ? 1 : 0)
  + multisetcount(m: network, network[m].kind != Question)
  = 1;
