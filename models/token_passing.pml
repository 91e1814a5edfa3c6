/*
 * Mutual exclusion by a token that goes around.  A station that wants to work
 * does so when the token comes by, once; the others pass it on at once.  There
 * is always one token: one station works, and none can be forgotten.
 *
 * expect: verified
 * states: 4051
 * transitions: 15256
 * depth: 28
 * exit: 0
 * scale: N=7 states 51031 transitions 260254
 */

#ifndef N
#define N 5
#endif

chan hop[N] = [1] of { bit };
byte n_working;
bool wanted[N];

proctype station(byte me)
{
end:	do
	:: !wanted[me] -> wanted[me] = true
	:: hop[me]?1 ->
		if
		:: wanted[me] ->
			n_working++;
			assert(n_working == 1);
			n_working--;
			wanted[me] = false
		:: else
		fi;
		hop[(me + 1) % N]!1
	od
}

init {
	byte i;

	atomic {
		for (i : 0 .. N - 1) {
			run station(i)
		}
		i = 0;
		hop[0]!1
	}
}
