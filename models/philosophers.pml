/*
 * Dining philosophers with forks as channels: to take a fork is to receive it,
 * to put it down is to send it back.  The last philosopher is left-handed, so
 * that no circle of waiting can close.
 *
 * expect: verified
 * states: 5569
 * transitions: 22593
 * depth: 31
 * exit: 0
 * scale: N=7 states 166401 transitions 942465
 */

#ifndef N
#define N 5
#endif

chan fork[N] = [1] of { bit };
byte n_eating;

inline take(which) { fork[which]?1 }
inline put(which)  { fork[which]!1 }

proctype philosopher(byte seat)
{
	byte one = seat;
	byte two = (seat + 1) % N;

	if
	:: seat == N - 1 -> d_step { one = 0; two = seat }
	:: else
	fi;
end:	do
	:: take(one);
		take(two);
		n_eating++;
		assert(n_eating <= N / 2);
		n_eating--;
		put(two);
		put(one)
	od
}

init {
	byte i;

	atomic {
		for (i : 0 .. N - 1) {
			fork[i]!1;
			run philosopher(i)
		}
		i = 0
	}
}
