-- Directory-based MSI cache coherence with data.  Each node holds one line in
-- state Invalid, Shared or Modified.  The home keeps the memory copy, the set
-- of sharers and the owner, and serves one request at a time: before it
-- grants, it recalls the line from the owner (write-back) or invalidates the
-- sharers and waits for their acknowledgements.  Every node has one request
-- slot to the home, and each direction of the link between home and node
-- holds one protocol message.  Nodes may evict: a shared copy silently, a
-- modified one by a write-back of their own accord, which may cross a recall
-- on its way; the recall is dropped then.
--
-- Data are modelled as well: a ghost variable keeps the last value written
-- anywhere, and every copy that may be read must carry it.  Values are
-- interchangeable, so both nodes and values are scalarsets.
--
-- expect: verified
-- states: 2529
-- transitions: 10917
-- depth: 26
-- exit: 0
-- scale: NODES=4 states 13572 transitions 79910
-- scale: NODES=4 VALUES=3 states 13572 transitions 80190
-- scale: NODES=5 states 65681 transitions 495992

const
  NODES:  3;
  VALUES: 2;

type
  Node:    scalarset(NODES);
  Value:   scalarset(VALUES);
  Line:    enum { Invalid, Shared, Modified };
  Request: enum { NoRequest, WantRead, WantWrite };
  Command: enum { NoCommand, Invalidate, Recall, GrantRead, GrantWrite };
  Answer:  enum { NoAnswer, InvalidateDone, WriteBack };

  Cache:          record line: Line; data: Value; end;
  CommandMessage: record kind: Command; data: Value; end;
  AnswerMessage:  record kind: Answer; data: Value; end;

var
  cache:     array [Node] of Cache;
  request:   array [Node] of Request;           -- node to home
  command:   array [Node] of CommandMessage;    -- home to node
  answer:    array [Node] of AnswerMessage;     -- node to home

  memory:    Value;
  sharer:    array [Node] of boolean;
  toCancel:  array [Node] of boolean;  -- still to be told to give up the line
  exclusive: boolean;                  -- some node owns the line
  serving:   Request;                  -- the request in progress
  client:    Node;                     -- who made it; undefined when none

  lastWritten: Value;                  -- ghost

procedure endService();
begin
  serving := NoRequest;
  undefine client;
end;

------------------------------------------------------------------------ nodes

ruleset n: Node do

  rule "ask for a readable copy"
    cache[n].line = Invalid & request[n] = NoRequest
  ==>
  begin
    request[n] := WantRead;
  end;

  rule "ask for a writable copy"
    cache[n].line != Modified & request[n] = NoRequest
  ==>
  begin
    request[n] := WantWrite;
  end;

  ruleset v: Value do
    rule "write"
      cache[n].line = Modified
    ==>
    begin
      cache[n].data := v;
      lastWritten := v;
    end;
  end;

  rule "obey an invalidation"
    command[n].kind = Invalidate & answer[n].kind = NoAnswer
  ==>
  begin
    undefine command[n];
    command[n].kind := NoCommand;
    answer[n].kind := InvalidateDone;
    undefine cache[n];
    cache[n].line := Invalid;
  end;

  rule "evict a shared copy"
    cache[n].line = Shared
  ==>
  begin
    undefine cache[n];
    cache[n].line := Invalid;
  end;

  rule "evict a modified copy"
    cache[n].line = Modified & answer[n].kind = NoAnswer
  ==>
  begin
    answer[n].kind := WriteBack;
    answer[n].data := cache[n].data;
    undefine cache[n];
    cache[n].line := Invalid;
  end;

  rule "drop a recall that crossed a write-back"
    command[n].kind = Recall & cache[n].line = Invalid
  ==>
  begin
    command[n].kind := NoCommand;
  end;

  rule "obey a recall"
    command[n].kind = Recall & cache[n].line = Modified
    & answer[n].kind = NoAnswer
  ==>
  begin
    undefine command[n];
    command[n].kind := NoCommand;
    answer[n].kind := WriteBack;
    answer[n].data := cache[n].data;
    undefine cache[n];
    cache[n].line := Invalid;
  end;

  rule "receive a grant"
    command[n].kind = GrantRead | command[n].kind = GrantWrite
  ==>
  begin
    cache[n].line := (command[n].kind = GrantRead ? Shared : Modified);
    cache[n].data := command[n].data;
    undefine command[n];
    command[n].kind := NoCommand;
    request[n] := NoRequest;
  end;

end;

------------------------------------------------------------------------- home

ruleset n: Node do

  rule "accept a request"
    serving = NoRequest & request[n] != NoRequest
    & command[n].kind = NoCommand
  ==>
  begin
    serving := request[n];
    client := n;
    for m: Node do
      toCancel[m] := sharer[m] & (exclusive | request[n] = WantWrite);
    end;
  end;

  rule "cancel a copy"
    serving != NoRequest & toCancel[n] & command[n].kind = NoCommand
  ==>
  begin
    command[n].kind := (exclusive ? Recall : Invalidate);
    toCancel[n] := false;
  end;

  rule "take an acknowledgement"
    answer[n].kind != NoAnswer
  ==>
  begin
    sharer[n] := false;
    toCancel[n] := false;
    if answer[n].kind = WriteBack then
      memory := answer[n].data;
      exclusive := false;
    end;
    undefine answer[n];
    answer[n].kind := NoAnswer;
  end;

  rule "grant a readable copy"
    serving = WantRead & client = n & !exclusive & command[n].kind = NoCommand
  ==>
  begin
    command[n].kind := GrantRead;
    command[n].data := memory;
    sharer[n] := true;
    endService();
  end;

  rule "grant a writable copy"
    serving = WantWrite & client = n & command[n].kind = NoCommand
    & forall m: Node do !sharer[m] end
  ==>
  begin
    command[n].kind := GrantWrite;
    command[n].data := memory;
    sharer[n] := true;
    exclusive := true;
    endService();
  end;

end;

ruleset v: Value do
  startstate "memory holds the only copy"
  begin
    for n: Node do
      undefine cache[n];
      cache[n].line := Invalid;
      request[n] := NoRequest;
      undefine command[n];
      command[n].kind := NoCommand;
      undefine answer[n];
      answer[n].kind := NoAnswer;
      sharer[n] := false;
      toCancel[n] := false;
    end;
    memory := v;
    lastWritten := v;
    exclusive := false;
    endService();
  end;
end;

invariant "a modified copy is the only copy"
  forall n: Node do
    cache[n].line = Modified ->
      forall m: Node do m != n -> cache[m].line = Invalid end
  end;

invariant "every readable copy holds the last value written"
  forall n: Node do
    cache[n].line != Invalid -> cache[n].data = lastWritten
  end;

invariant "memory is up to date unless the line is owned"
  !exclusive -> memory = lastWritten;
