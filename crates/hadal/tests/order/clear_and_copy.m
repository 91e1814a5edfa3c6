-- Arrays are cleared, copied element by element and copied whole.
--
-- order: innocent
-- off: verified
-- orbits: 20
const N: 3;
type Page: scalarset(N); Bits: array [Page] of boolean;
var dirty, snapshot: Bits;
startstate for p: Page do dirty[p] := false; snapshot[p] := false; end; end;
ruleset p: Page do rule "write" !dirty[p] ==> dirty[p] := true; end; end;
rule "snapshot" for p: Page do snapshot[p] := dirty[p]; dirty[p] := false; end; end;
rule "restore" dirty := snapshot; end;
rule "forget" for p: Page do snapshot[p] := false; end; end;
