-- A mailbox that is too small.  Workers post results to a collector; the model
-- gives the mailbox room for one result per worker, forgetting that a worker
-- may post an alarm in addition.  Adding to the full multiset is the fault that
-- is reported.
--
-- expect: violated
-- exit: 1
-- violation: multiset-full depth 3

const
  WORKERS: 3;

type
  Worker: scalarset(WORKERS);
  Subject: enum { Result, Alarm };

  Letter: record
    subject: Subject;
    sender:  Worker;
  end;

var
  mailbox: multiset [WORKERS] of Letter;
  posted:  array [Worker] of boolean;
  alarmed: array [Worker] of boolean;

procedure post(s: Subject; w: Worker);
var
  letter: Letter;
begin
  letter.subject := s;
  letter.sender := w;
  multisetadd(letter, mailbox);
end;

ruleset w: Worker do

  rule "post a result"
    !posted[w]
  ==>
  begin
    posted[w] := true;
    post(Result, w);
  end;

  rule "post an alarm"
    posted[w] & !alarmed[w]
  ==>
  begin
    alarmed[w] := true;
    post(Alarm, w);
  end;

end;

choose l: mailbox do
  rule "collect a letter"
    true
  ==>
  var
    sender: Worker;
  begin
    sender := mailbox[l].sender;
    if mailbox[l].subject = Result then
      posted[sender] := false;
    else
      alarmed[sender] := false;
    end;
    multisetremove(l, mailbox);
  end;
end;

startstate "empty mailbox"
begin
  undefine mailbox;
  for w: Worker do
    posted[w] := false;
    alarmed[w] := false;
  end;
end;

invariant "a result is in the box as long as its worker waits"
  forall w: Worker do
    posted[w] =
      (multisetcount(l: mailbox,
         mailbox[l].subject = Result & mailbox[l].sender = w) = 1)
  end;
