/*
 * Lamport's bakery without the flag by which a process says that it is drawing
 * a number.  A process that has read the numbers of the others but not yet
 * written its own is overlooked by one that looks for a smaller number, and
 * then draws the same number: if it comes first by its place, both get in.
 *
 * expect: violated
 * exit: 1
 * violation: assertion depth 34
 * scale: N=3 states 36836 transitions 100439
 * scale: N=4
 */

#ifndef N
#define N 2
#endif

byte number[N];
byte n_inside;

active [N] proctype process()
{
	byte other;
	byte drawn;

	do
	::
		drawn = 0;
		other = 0;
		do
		:: other < N ->
			atomic {
				if
				:: number[other] > drawn -> drawn = number[other]
				:: else
				fi;
				other++
			}
		:: else -> break
		od;
		number[_pid] = drawn + 1;
		other = 0;
		do
		:: other < N ->
			number[other] == 0 || number[other] > number[_pid]
				|| (number[other] == number[_pid] && other >= _pid);
			other++
		:: else -> break
		od;
		n_inside++;
		assert(n_inside == 1);
		n_inside--;
		number[_pid] = 0
	od
}
