/*
 * Leader election in a ring (Chang and Roberts).  Every node sends its number
 * to the right.  A node passes on numbers greater than its own and swallows
 * smaller ones; whoever receives its own number has won, and announces it
 * once around the ring.
 *
 * `init` inserts the numbers in every possible order: N! choices inside one
 * `atomic`, of which only the end points are states.
 *
 * expect: verified
 * states: 8569
 * transitions: 21204
 * depth: 55
 * exit: 0
 * scale: N=5 states 173266 transitions 549200
 */

#ifndef N
#define N 4
#endif

mtype = { candidate, leader };

chan link[N] = [N] of { mtype, byte };    /* link[i] leads to node i */
byte number[N];                           /* 1 to N, each once */
byte n_leaders;

proctype node(byte place)
{
	byte mine = number[place];
	byte other;
	chan left = link[place];
	chan right = link[(place + 1) % N];

	right!candidate(mine);
end:	do
	:: left?candidate(other) ->
		if
		:: other > mine -> right!candidate(other)
		:: other < mine
		:: else ->
			assert(mine == N);
			n_leaders++;
			assert(n_leaders == 1);
			right!leader(mine)
		fi
	:: left?leader(other) ->
		assert(other == N);
		if
		:: other != mine -> right!leader(other)
		:: else
		fi;
		break
	od
}

init {
	byte place, value, i;

	atomic {
		for (value : 1 .. N) {
			do
			:: place < value - 1 -> place++
			:: break
			od;
			i = value - 1;
			do
			:: i > place -> number[i] = number[i - 1]; i--
			:: else -> break
			od;
			number[place] = value;
			place = 0
		}
		value = 0;
		i = 0;
		do
		:: place < N -> run node(place); place++
		:: else -> break
		od;
		place = 0
	}
}
