-- Two-phase commit with a coordinator that may crash.  The coordinator asks
-- every participant to prepare, collects the votes, writes its decision to a
-- journal that survives crashes, and tells everybody.  A crash loses everything
-- but the journal: after recovery a coordinator with a recorded decision sends
-- it again, one without decides to abort.  Any participant may vote no, and
-- aborts at once then; one that voted yes is blocked until it hears from the
-- coordinator.
--
-- Checked: no participant commits while another aborts, and nobody commits
-- unless all voted yes.  After a round has ended the system starts afresh.
--
-- expect: verified
-- states: 1437
-- transitions: 6689
-- depth: 16
-- exit: 0
-- scale: PARTICIPANTS=6 states 11299 transitions 74541

const
  PARTICIPANTS: 4;

type
  Participant: scalarset(PARTICIPANTS);
  Phase:    enum { Idle, Collecting, Decided, Crashed };
  Decision: enum { NoDecision, Commit, Abort };
  Status:   enum { Working, Prepared, Committed, Aborted };
  Request:  enum { NoRequest, PrepareRequest, CommitOrder, AbortOrder };
  Vote:     enum { NoVote, Yes, No };

var
  phase:   Phase;
  journal: Decision;                              -- stable storage
  tally:   array [Participant] of Vote;           -- volatile
  status:  array [Participant] of Status;
  toPart:  array [Participant] of Request;        -- message in flight
  toCoord: array [Participant] of Vote;           -- message in flight

procedure broadcastDecision();
begin
  for p: Participant do
    toPart[p] := (journal = Commit ? CommitOrder : AbortOrder);
  end;
end;

procedure reset();
begin
  phase := Idle;
  journal := NoDecision;
  for p: Participant do
    tally[p] := NoVote;
    status[p] := Working;
    toPart[p] := NoRequest;
    toCoord[p] := NoVote;
  end;
end;

----------------------------------------------------------------- coordinator

rule "ask everybody to prepare"
  phase = Idle
==>
begin
  phase := Collecting;
  for p: Participant do
    toPart[p] := PrepareRequest;
  end;
end;

ruleset p: Participant do
  rule "collect a vote"
    phase = Collecting & toCoord[p] != NoVote
  ==>
  begin
    tally[p] := toCoord[p];
    toCoord[p] := NoVote;
  end;

  rule "a vote reaches nobody"
    (phase = Crashed | phase = Decided) & toCoord[p] != NoVote
  ==>
  begin
    toCoord[p] := NoVote;
  end;
end;

rule "decide to commit"
  phase = Collecting & forall p: Participant do tally[p] = Yes end
==>
begin
  journal := Commit;
  phase := Decided;
  broadcastDecision();
end;

rule "decide to abort"
  phase = Collecting & exists p: Participant do tally[p] = No end
==>
begin
  journal := Abort;
  phase := Decided;
  broadcastDecision();
end;

rule "crash"
  phase = Collecting | phase = Decided
==>
begin
  phase := Crashed;
  for p: Participant do
    tally[p] := NoVote;
    toPart[p] := NoRequest;              -- what was not delivered is lost
  end;
end;

rule "recover"
  phase = Crashed
==>
begin
  if journal = NoDecision then
    journal := Abort;
  end;
  phase := Decided;
  broadcastDecision();
end;

---------------------------------------------------------------- participants

ruleset p: Participant do
  rule "vote yes"
    toPart[p] = PrepareRequest & status[p] = Working
  ==>
  begin
    toPart[p] := NoRequest;
    status[p] := Prepared;
    toCoord[p] := Yes;
  end;

  rule "vote no"
    toPart[p] = PrepareRequest & status[p] = Working
  ==>
  begin
    toPart[p] := NoRequest;
    status[p] := Aborted;
    toCoord[p] := No;
  end;

  rule "obey the decision"
    toPart[p] = CommitOrder | toPart[p] = AbortOrder
  ==>
  begin
    if toPart[p] = CommitOrder then
      assert status[p] != Aborted "commit order for an aborted participant";
      status[p] := Committed;
    else
      assert status[p] != Committed "abort order for a committed participant";
      status[p] := Aborted;
    end;
    toPart[p] := NoRequest;
  end;
end;

rule "next transaction"
  phase = Decided
  & forall p: Participant do
      (status[p] = Committed | status[p] = Aborted)
      & toPart[p] = NoRequest & toCoord[p] = NoVote
    end
==>
begin
  reset();
end;

startstate "quiet"
begin
  reset();
end;

invariant "atomic outcome"
  !((exists p: Participant do status[p] = Committed end)
    & (exists p: Participant do status[p] = Aborted end));

invariant "commit needs a recorded decision"
  forall p: Participant do
    status[p] = Committed -> journal = Commit
  end;

liveness "the transaction can always be completed"
  forall p: Participant do
    status[p] = Committed | status[p] = Aborted
  end;
