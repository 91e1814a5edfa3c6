-- The Needham-Schroeder public-key protocol with Lowe's repair: the second
-- message names its sender, and an initiator accepts it only from the one it
-- meant to talk to.
--
--   1.  A -> B: { Na, A } for B
--   2.  B -> A: { Na, Nb, B } for A
--   3.  A -> B: { Nb } for B
--
-- The network is the intruder: every message sent falls into its hands.  It
-- reads what is encrypted for itself, keeps everything else to replay, and
-- composes new messages from the nonces it knows.  An honest principal receives
-- exactly what the intruder can produce.  A principal takes part in one run;
-- its nonce goes by the principal's own number.
--
-- The same text with LOWE_FIX = 0 is the original protocol, in which the
-- intruder can pose as somebody else: see needham_schroeder.m.
--
-- expect: verified
-- states: 9337
-- transitions: 30294
-- depth: 8
-- exit: 0
-- flags: --deadlock off
-- scale: INITIATORS=3 states 207602 transitions 868570

const
  INITIATORS: 2;
  RESPONDERS: 2;
  LOWE_FIX:   1;

type
  Principal: 0..INITIATORS + RESPONDERS;
  Initiator: 0..INITIATORS - 1;
  Responder: INITIATORS..INITIATORS + RESPONDERS - 1;
  Progress:  enum { Ready, Waiting, Finished };

const
  INTRUDER: INITIATORS + RESPONDERS;

var
  progress: array [Principal] of Progress;
  partner:  array [Principal] of Principal;     -- as each one believes
  peer:     array [Principal] of Principal;     -- the nonce received from it

  -- What the intruder has: nonces in the clear, and sealed messages by
  -- receiver and contents.
  knows:   array [Principal] of boolean;
  sealed1: array [Principal] of array [Principal]
             of array [Principal] of boolean;
  sealed2: array [Principal] of array [Principal]
             of array [Principal] of array [Principal] of boolean;
  sealed3: array [Principal] of array [Principal] of boolean;

procedure send1(receiver: Principal; nonce, from: Principal);
begin
  if receiver = INTRUDER then
    knows[nonce] := true;
  else
    sealed1[receiver][nonce][from] := true;
  end;
end;

procedure send2(receiver: Principal; nonce, answer, from: Principal);
begin
  if receiver = INTRUDER then
    knows[nonce] := true;
    knows[answer] := true;
  else
    sealed2[receiver][nonce][answer][from] := true;
  end;
end;

procedure send3(receiver: Principal; nonce: Principal);
begin
  if receiver = INTRUDER then
    knows[nonce] := true;
  else
    sealed3[receiver][nonce] := true;
  end;
end;

ruleset a: Initiator; b: Principal do
  rule "start a run"
    progress[a] = Ready & b >= INITIATORS
  ==>
  begin
    partner[a] := b;
    progress[a] := Waiting;
    send1(b, a, a);
  end;
end;

ruleset b: Responder; nonce: Principal; from: Principal do
  rule "answer message 1"
    progress[b] = Ready
    & (from < INITIATORS | from = INTRUDER)
    & (knows[nonce] | sealed1[b][nonce][from])
  ==>
  begin
    partner[b] := from;
    peer[b] := nonce;
    progress[b] := Waiting;
    send2(from, nonce, b, b);
  end;
end;

-- Without the repair an initiator does not see who sent message 2.
ruleset a: Initiator; answer: Principal; from: Principal do
  rule "answer message 2"
    progress[a] = Waiting
    & (LOWE_FIX = 0 | from = partner[a])
    & ((knows[a] & knows[answer]) | sealed2[a][a][answer][from])
  ==>
  begin
    peer[a] := answer;
    progress[a] := Finished;
    send3(partner[a], answer);
  end;
end;

ruleset b: Responder do
  rule "accept message 3"
    progress[b] = Waiting & (knows[b] | sealed3[b][b])
  ==>
  begin
    progress[b] := Finished;
  end;
end;

startstate "only the intruder's own nonce is known"
begin
  for a: Principal do
    progress[a] := Ready;
    knows[a] := a = INTRUDER;
    for n: Principal do
      sealed3[a][n] := false;
      for m: Principal do
        sealed1[a][n][m] := false;
        for f: Principal do
          sealed2[a][n][m][f] := false;
        end;
      end;
    end;
  end;
  undefine partner;
  undefine peer;
end;

invariant "a responder talked to whom it believes"
  forall b: Responder do
    progress[b] = Finished & partner[b] != INTRUDER
      -> partner[partner[b]] = b
  end;

invariant "an initiator talked to whom it believes"
  forall a: Initiator do
    progress[a] = Finished & partner[a] != INTRUDER
      -> progress[partner[a]] != Ready & peer[a] = partner[a]
  end;
